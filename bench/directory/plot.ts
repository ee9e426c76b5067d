/** Lines over time as an SVG file that needs nothing else. */

export interface Panel {
  readonly label: string;
  readonly values: readonly number[];
}

const WIDTH = 760;
const PANEL_HEIGHT = 170;
const LEFT = 60;
const RIGHT = 20;
const TOP = 34;
const GAP = 40;
const BOTTOM = 40;
const MOST_POINTS = 300;
const TICKS = 4;

/** One panel below the other over one axis of minutes; the values of a panel are taken evenly from the start to the end. */
export function plot(title: string, minutes: number, panels: readonly Panel[]): string {
  const height = TOP + panels.length * PANEL_HEIGHT + (panels.length - 1) * GAP + BOTTOM;
  const bodies = panels.map((panel, i) => drawPanel(panel, TOP + i * (PANEL_HEIGHT + GAP), minutes));
  const middle = LEFT + (WIDTH - LEFT - RIGHT) / 2;
  return `${[
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" height="${height}" font-family="sans-serif" font-size="11">`,
    `<rect width="100%" height="100%" fill="#fff"/>`,
    `<text x="${LEFT}" y="18" font-size="13">${title}</text>`,
    ...bodies,
    `<text x="${middle}" y="${height - 6}" text-anchor="middle">minutes</text>`,
    '</svg>',
  ].join('\n')}\n`;
}

function drawPanel({ label, values }: Panel, top: number, minutes: number): string {
  const points = thinned(values);
  const step = roundStep(Math.max(...points, 1) / TICKS);
  const most = step * Math.ceil(Math.max(...points, 1) / step);
  const right = WIDTH - RIGHT;
  const x = (share: number) => (LEFT + share * (right - LEFT)).toFixed(1);
  const y = (value: number) => (top + PANEL_HEIGHT * (1 - value / most)).toFixed(1);
  const lines: string[] = [];
  for (let value = 0; value <= most; value += step) {
    lines.push(`<path d="M${LEFT} ${y(value)}H${right}" stroke="#ddd"/>`);
    lines.push(`<text x="${LEFT - 6}" y="${y(value)}" dy="4" text-anchor="end">${value}</text>`);
  }
  const minuteStep = roundStep(minutes / 8);
  for (let minute = 0; minute <= minutes; minute += minuteStep)
    lines.push(
      `<text x="${x(minute / minutes)}" y="${top + PANEL_HEIGHT + 15}" text-anchor="middle">${Number(minute.toFixed(1))}</text>`,
    );
  lines.push(`<text x="${right}" y="${top - 4}" text-anchor="end">${label}</text>`);
  const path = points.map((value, i) => `${x((i + 0.5) / points.length)},${y(value)}`).join(' ');
  lines.push(`<polyline fill="none" stroke="#1a5fb4" stroke-width="1.2" points="${path}"/>`);
  return lines.join('\n');
}

/** The largest of each stretch, so that no peak is lost. */
function thinned(values: readonly number[]): number[] {
  const count = Math.min(values.length, MOST_POINTS);
  return Array.from({ length: count }, (_, i) => {
    const [from, to] = [i, i + 1].map((k) => Math.floor((k * values.length) / count));
    return Math.max(...values.slice(from, to));
  });
}

/** 1, 2 or 5 times a power of ten, not less than `least`. */
function roundStep(least: number): number {
  const power = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= least) ?? 10 * power;
}
