/** File names come into messages as they are; a terminal must not obey them. */
export function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is replaced
  return text.replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/g, (control) => JSON.stringify(control).slice(1, -1));
}
