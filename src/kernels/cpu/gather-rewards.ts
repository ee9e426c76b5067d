/** Twin of gather-rewards.wgsl: the reward at each position of a list. */
import { UNWRITTEN } from '../codes.ts';
import { defineKernel, read, write } from '../kernel.ts';

export const gatherRewards = defineKernel({
  name: 'gather-rewards',
  preludes: ['dispatch', 'codes'],
  // rowsInOrder: a position is its row; positionBase: the position at which the tables begin
  parameters: ['rowsInOrder', 'positionBase'],
  bindings: {
    positions: read('u32', 'item'),
    rowsByRollout: read('u32', 'table'),
    rewards: read('f64', 'table'),
    values: write('f64', 'item'),
  },
  twin(parameters, { positions, rowsByRollout, rewards, values }) {
    const { firstItem, itemCount, itemBase, rowsInOrder, positionBase } = parameters;
    for (let item = firstItem; item < firstItem + itemCount; item++) {
      const at = item - itemBase;
      const position = positions[at] - positionBase;
      if (positions[at] === UNWRITTEN) values[at] = Number.NaN;
      else values[at] = rewards[rowsInOrder === 1 ? position : rowsByRollout[position]];
    }
  },
});
