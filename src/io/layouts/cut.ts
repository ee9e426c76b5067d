/** Ids that are a part of a text, such as `{prompt}_{session}_{output}`. */
import { InputError } from '../../errors.ts';
import type { Cut } from './layout.ts';

/** @throws InputError where the text has not as many separators as the cut needs */
export function cutText(field: string, text: string, { separator, count, from }: Cut): string {
  let at = from === 'left' ? -separator.length : text.length;
  for (let i = 0; i < count; i++) {
    if (from === 'left') at = text.indexOf(separator, at + separator.length);
    else at = at === 0 ? -1 : text.lastIndexOf(separator, at - 1);
    if (at < 0) {
      throw new InputError(
        `${field}: expected text with ${count} or more ${JSON.stringify(separator)}, found ${JSON.stringify(text.slice(0, 80))}`,
      );
    }
  }
  return text.slice(0, at);
}
