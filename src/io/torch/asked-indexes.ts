/** Lists the memo indexes that a pickle asks for, without building any value. */
import { readDecimalLine, readLength, readLine, readUint8, readUint32 } from './arguments.ts';
import type { ByteWindow } from './byte-window.ts';
import { NumberRun } from './number-run.ts';
import { type ArgumentForm, OPCODES, Op } from './opcodes.ts';

const MOST_INDEXES = 1 << 20;

/** @throws InputError where there are more than fit into memory */
export function findAskedIndexes(window: ByteWindow): Set<number> {
  const asked = new Set<number>();
  const run = new NumberRun();
  window.seek(0);
  for (;;) {
    const code = run.scan(window) && readUint8(window);
    if (code === Op.STOP) return asked;
    if (code === Op.BINGET) asked.add(readUint8(window));
    else if (code === Op.LONG_BINGET) asked.add(readUint32(window));
    else if (code === Op.GET) asked.add(readDecimalLine(window));
    else skipArgument(window, OPCODES[code]?.form);
    if (asked.size > MOST_INDEXES)
      throw window.error(`more than ${MOST_INDEXES} values are shared over long distances, too many to keep`);
  }
}

function skipArgument(window: ByteWindow, form: ArgumentForm | undefined): void {
  if (!form) throw window.error('is no opcode of a pickle');
  if (form.kind === 'fixed') window.skip(form.byteLength);
  else if (form.kind === 'counted') window.skip(readLength(window, form.lengthBytes));
  else for (let i = 0; i < form.count; i++) readLine(window);
}
