import { createHash } from "node:crypto";
import { encodePng } from "./png.ts";
import type { Color } from "./png.ts";

const cellsAcross = 5;
const cellPixels = 48;
const ground: Color = [240, 242, 246];

/**
 * The picture of somebody who has set none: a mirrored pattern in a color of their own, the same for an id for ever.
 */
export function generatedPicture(userUuid: string): Buffer {
  const digest = createHash("sha256").update(userUuid).digest();
  const half = Math.ceil(cellsAcross / 2);
  const cells = Array.from({ length: cellsAcross }, (_row, y) =>
    Array.from(
      { length: cellsAcross },
      (_cell, x) => (digest[y * half + Math.min(x, cellsAcross - 1 - x)] ?? 0) % 2 === 0,
    ),
  );
  const margin = Array<boolean>(cellsAcross + 2).fill(false);
  return encodePng([margin, ...cells.map((row) => [false, ...row, false]), margin], cellPixels, [
    ground,
    colorOf(digest.readUInt16BE(30) % 360),
  ]);
}

/** A color of this hue, degrees, of middling lightness and saturation. */
function colorOf(hue: number): Color {
  const channel = (offset: number): number => {
    const at = (offset + hue / 30) % 12;
    return Math.round(255 * (0.45 - 0.25 * Math.max(-1, Math.min(at - 3, 9 - at, 1))));
  };
  return [channel(0), channel(8), channel(4)];
}
