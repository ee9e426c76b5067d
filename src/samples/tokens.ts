/** Which of a row's token fields counts: trainable_tokens, else the ones of loss_mask, else response_length, else 0. */

/** A field that a row does not have. */
export const NO_COUNT = -1;

/** @param masked ones of the mask, or COUNT_THE_MASK where they are still to be counted */
export function trainableTokens(removed: boolean, stated: number, masked: number, responseLength: number): number {
  if (removed) return 0;
  if (stated !== NO_COUNT) return stated;
  return masked !== NO_COUNT ? masked : Math.max(0, responseLength);
}

/** Whether a row says anything of its tokens; where no row does, they are unknown for the whole batch. */
export function saysTokens(stated: number, masked: number, responseLength: number): boolean {
  return stated !== NO_COUNT || masked !== NO_COUNT || responseLength !== NO_COUNT;
}
