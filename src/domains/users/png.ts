import { crc32, deflateSync } from "node:zlib";

const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** A color, red green blue, 0 to 255 each. */
export type Color = readonly [number, number, number];

/** A PNG (ISO/IEC 15948) of square cells in two colors; `cells` by rows, true is the foreground. */
export function encodePng(
  cells: readonly (readonly boolean[])[],
  cellPixels: number,
  [ground, ink]: readonly [Color, Color],
): Buffer {
  const side = cells.length * cellPixels;
  const header = Buffer.alloc(13);
  header.writeUInt32BE(side, 0);
  header.writeUInt32BE(side, 4);
  header.set([1, 3, 0, 0, 0], 8); // one bit a pixel, indexed color, no interlace
  const rows = cells.flatMap((row) => {
    // Filter type 0 before the pixels of every line.
    const line = Buffer.alloc(1 + Math.ceil(side / 8));
    for (let x = 0; x < side; x++) if (row[Math.floor(x / cellPixels)] === true) line[1 + (x >> 3)]! |= 0x80 >> (x & 7);
    return Array<Buffer>(cellPixels).fill(line);
  });
  return Buffer.concat([
    signature,
    chunk("IHDR", header),
    chunk("PLTE", Buffer.from([...ground, ...ink])),
    chunk("IDAT", deflateSync(Buffer.concat(rows))),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}
