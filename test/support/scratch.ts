import { statfsSync } from "node:fs";
import { freemem, tmpdir } from "node:os";

const MEMORY = "/dev/shm";
const ROOM = 4 * 1024 ** 3;

/**
 * Where databases of tests are made: in memory where there is room. On ext4 a thousand files take half a second of
 * processor time to make while as many others have been deleted within a minute, as each dropped database is.
 */
export function scratch(): string {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize >= ROOM && freemem() >= 2 * ROOM ? MEMORY : tmpdir();
  } catch {
    return tmpdir();
  }
}
