/** Runs the command line where there is next to no room: on a file system of 64 KiB, or under a limit on the size of files. */
import { spawnSync } from 'node:child_process';
import { CLI } from './run-cli.ts';

export interface RunOnSmallDisk {
  readonly status: number;
  readonly stderr: string;
  /** Names in the folder afterwards. */
  readonly left: string[];
}

const SIZE = '64k';
const isRoot = process.geteuid?.() === 0;
const NAMESPACE = isRoot ? ['-m'] : ['-rm'];
let mountable: boolean | undefined;

/** Whether file systems can be mounted here, in a namespace of their own. */
function canMount(folder: string): boolean {
  mountable ??= spawnSync('unshare', [...NAMESPACE, 'mount', '-t', 'tmpfs', 'none', folder]).status === 0;
  return mountable;
}

/** What the system says of it. */
export const NO_ROOM = /: no space left on device|: file too large/;

/**
 * @param folder an empty one, which is the small disk; `$DISK` in the arguments, which print nothing; temporary files go there too
 * @param fills whether the disk is full from the beginning
 */
export function runOnSmallDisk(
  folder: string,
  args: readonly string[],
  { fills = false, cwd = '/' } = {},
): RunOnSmallDisk {
  const mounts = canMount(folder);
  const lines = [
    'set -o pipefail',
    mounts ? `mount -t tmpfs -o size=${SIZE} none "$DISK"` : `ulimit -f ${fills ? 0 : 64}`,
    mounts && fills ? 'head -c 64k /dev/zero > "$DISK/full" 2>/dev/null' : '',
    `"${process.execPath}" "${CLI}" ${args.join(' ')}`,
    'echo $?; rm -f "$DISK/full"; ls -A "$DISK"',
  ];
  const shell = ['bash', '-c', lines.join('\n')];
  const [command, ...rest] = mounts ? ['unshare', ...NAMESPACE, ...shell] : shell;
  const env = { ...process.env, DISK: folder, TMPDIR: folder };
  const { stdout, stderr } = spawnSync(command, rest, { cwd, encoding: 'utf8', env });
  const [status, ...left] = stdout.trim().split('\n');
  return { status: Number(status), stderr, left };
}
