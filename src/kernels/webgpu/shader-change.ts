/** A line of a shader replaced by another: how a fault is planted on a device, to show that it would be noticed. */

export interface ShaderChange {
  /** The shader's own file or a prelude, as they lie in shaders/: `normalize.wgsl`. */
  readonly file: string;
  /** The whole line, which must be there once. */
  readonly line: string;
  readonly replacement: string;
}

/** @throws RangeError where the line is not there exactly once */
export function changedText(file: string, text: string, changes: readonly ShaderChange[]): string {
  if (!changes.some((change) => change.file === file)) return text;
  let lines = text.split('\n');
  for (const change of changes) {
    if (change.file !== file) continue;
    const at = lines.indexOf(change.line);
    if (at < 0 || lines.indexOf(change.line, at + 1) >= 0)
      throw new RangeError(`${file} must have this line once: ${change.line}`);
    lines = lines.with(at, change.replacement);
  }
  return lines.join('\n');
}
