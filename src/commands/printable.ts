/** File names and texts of files come into messages as they are; a terminal must not obey them. */

/** Controls of ASCII and of the 128 after it as escapes of JSON; line feeds stay. */
export function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is replaced
  return text.replace(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f]/g, escaped);
}

/** The same for what must stay on one line. */
export function printableLine(text: string): string {
  return printable(text).replace(/[\n\u2028\u2029]/g, escaped);
}

/** JSON.stringify leaves those above U+001F as they are. */
function escaped(control: string): string {
  if (control < ' ') return JSON.stringify(control).slice(1, -1);
  return `\\u${control.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
