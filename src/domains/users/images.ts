import { crc32 } from "node:zlib";

/** Format and size of an image. */
export interface ImageHead {
  contentType: "image/png" | "image/jpeg" | "image/webp";
  width: number;
  height: number;
}

/** Recognises a PNG, JPEG or WebP image by its content; undefined for anything else, and for one without a size. */
export function readImageHead(image: Buffer): ImageHead | undefined {
  const head = readPng(image) ?? readJpeg(image) ?? readWebp(image);
  return head !== undefined && head.width > 0 && head.height > 0 ? head : undefined;
}

/** Signature, then the chunk IHDR with its checksum (ISO/IEC 15948, 5.2 and 11.2.1). */
function readPng(image: Buffer): ImageHead | undefined {
  if (image.length < 33 || image.toString("latin1", 0, 8) !== "\x89PNG\r\n\x1a\n") return undefined;
  if (image.readUInt32BE(8) !== 13 || image.toString("latin1", 12, 16) !== "IHDR") return undefined;
  if (crc32(image.subarray(12, 29)) !== image.readUInt32BE(29)) return undefined;
  return { contentType: "image/png", width: image.readUInt32BE(16), height: image.readUInt32BE(20) };
}

/** Start of image, then segments until one that starts a frame (ITU-T T.81, B.1 and B.2.2). */
function readJpeg(image: Buffer): ImageHead | undefined {
  if (image.length < 4 || image.readUInt16BE(0) !== 0xffd8) return undefined;
  for (let at = 2; at + 4 <= image.length; ) {
    if (image[at] !== 0xff) return undefined;
    const marker = image[at + 1] ?? 0;
    if (marker === 0xff) {
      at += 1; // a fill byte
      continue;
    }
    if (marker === 0x01 || (marker >= 0xd0 && marker <= 0xd7)) {
      at += 2; // a marker without a segment
      continue;
    }
    // Data before a frame.
    if (marker === 0x00 || marker === 0xd8 || marker === 0xd9 || marker === 0xda) return undefined;
    const length = image.readUInt16BE(at + 2);
    if (length < 2) return undefined;
    if (startsFrame(marker)) {
      if (length < 8 || at + 9 > image.length) return undefined;
      return { contentType: "image/jpeg", width: image.readUInt16BE(at + 7), height: image.readUInt16BE(at + 5) };
    }
    at += 2 + length;
  }
  return undefined;
}

/** C0 to CF but for the tables C4 and CC and the extension C8. */
function startsFrame(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
}

/** A RIFF container whose first chunk is VP8, VP8L or VP8X (RFC 9649). */
function readWebp(image: Buffer): ImageHead | undefined {
  if (image.length < 30 || image.toString("latin1", 0, 4) !== "RIFF" || image.toString("latin1", 8, 12) !== "WEBP")
    return undefined;
  if (image.readUInt32LE(4) > image.length - 8) return undefined;
  const size = webpSize(image.toString("latin1", 12, 16), image.subarray(20));
  return size === undefined ? undefined : { contentType: "image/webp", ...size };
}

function webpSize(chunk: string, data: Buffer): { width: number; height: number } | undefined {
  if (chunk === "VP8X") return { width: data.readUIntLE(4, 3) + 1, height: data.readUIntLE(7, 3) + 1 };
  if (chunk === "VP8L" && data[0] === 0x2f) {
    const bits = data.readUInt32LE(1);
    return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
  }
  const keyFrame = (data[0] ?? 1) % 2 === 0 && data.readUIntBE(3, 3) === 0x9d012a;
  if (chunk === "VP8 " && keyFrame)
    return { width: data.readUInt16LE(6) & 0x3fff, height: data.readUInt16LE(8) & 0x3fff };
  return undefined;
}
