/** What a command has to say on standard output: a full disk is an error, a reader that goes away is none. */
import { openOutput } from '../io/output.ts';

/** @throws FileError */
export async function print(text: string): Promise<void> {
  const output = await openOutput('-');
  await output.write(Buffer.from(text));
  await output.commit();
}
