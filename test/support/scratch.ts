import { statfsSync } from "node:fs";
import { freemem, tmpdir } from "node:os";

const MEMORY = "/dev/shm";
const ROOM = 4 * 1024 ** 3;

/**
 * Folder for databases of tests: in memory where there is room. On ext4 creating files is slow soon after many others
 * were deleted: creating and dropping databases in turn took 580 ms each, in memory it takes 40 ms. The rows of
 * `npm run faults -- --only plans` take some 25 GiB: they are on disk.
 */
export function scratch(): string {
  if (process.env["ATRIUM_TEST_ROWS"] !== undefined) return tmpdir();
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize >= ROOM && freemem() >= 2 * ROOM ? MEMORY : tmpdir();
  } catch {
    return tmpdir();
  }
}
