import { inflateSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { encodePng } from "../../src/domains/users/png.ts";
import { startApp } from "../support/app.ts";
import type { TestApp } from "../support/app.ts";
import { auditOf, founder, member, outcome } from "../support/people.ts";
import type { Somebody } from "../support/people.ts";

let app: TestApp;
let owner: Somebody;
beforeAll(async () => {
  app = await startApp({ env: { SERVICE_OPEN_SIGNUP: "1" } });
  owner = await founder(app);
});
afterAll(() => app.close());

const put = (token: string, body: Uint8Array, type = "image/png") =>
  app.call("PUT", "/api/profile/picture", { token, body, headers: { "content-type": type } });

async function get(by: Somebody, of: string) {
  const response = await fetch(`${app.url}/api/users/${of}/picture`, {
    headers: { authorization: `Bearer ${by.token}` },
  });
  return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) };
}

const png = encodePng(
  [
    [true, false],
    [false, true],
  ],
  8,
  [
    [255, 255, 255],
    [0, 0, 0],
  ],
);

/** A PNG's head of any size, with a checksum of its own. */
function sized(width: number, height: number): Buffer {
  const image = Buffer.from(
    encodePng([[true]], 1, [
      [0, 0, 0],
      [1, 1, 1],
    ]),
  );
  image.writeUInt32BE(width, 16);
  image.writeUInt32BE(height, 20);
  let crc = 0xffffffff;
  for (const byte of image.subarray(12, 29)) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  image.writeUInt32BE((crc ^ 0xffffffff) >>> 0, 29);
  return image;
}

function jpeg(width: number, height: number): Buffer {
  const frame = Buffer.from([
    0xff,
    0xc2,
    0,
    17,
    8,
    height >> 8,
    height & 255,
    width >> 8,
    width & 255,
    3,
    1,
    0x22,
    0,
    2,
    0x11,
    1,
    3,
    0x11,
    1,
  ]);
  const app0 = Buffer.from([0xff, 0xe0, 0, 16, ...Buffer.from("JFIF\0"), 1, 1, 0, 0, 1, 0, 1, 0, 0]);
  return Buffer.concat([Buffer.from([0xff, 0xd8]), app0, Buffer.from([0xff, 0xff]), frame, Buffer.from([0xff, 0xd9])]);
}

function webp(chunk: string, data: number[]): Buffer {
  const body = Buffer.concat([
    Buffer.from("WEBP"),
    Buffer.from(chunk),
    Buffer.from([data.length, 0, 0, 0]),
    Buffer.from(data),
  ]);
  const riff = Buffer.alloc(8);
  riff.write("RIFF");
  riff.writeUInt32LE(body.length, 4);
  return Buffer.concat([riff, body, Buffer.alloc(Math.max(0, 40 - body.length))]);
}

describe("a picture that nobody set", () => {
  it("a generated picture is a PNG, the same each time and different for each person", async () => {
    const other = await member(app, owner);
    const [first, again, others] = [
      await get(owner, owner.userUuid),
      await get(owner, owner.userUuid.toUpperCase()),
      await get(owner, other.userUuid),
    ];
    expect(first.status).toBe(200);
    expect(
      Object.fromEntries(["content-type", "x-content-type-options"].map((name) => [name, first.headers.get(name)])),
    ).toEqual({ "content-type": "image/png", "x-content-type-options": "nosniff" });
    expect(first.headers.get("etag")).toMatch(/^"[\w-]+"$/u);
    expect(again.bytes.equals(first.bytes)).toBe(true);
    expect(again.headers.get("etag")).toBe(first.headers.get("etag"));
    expect(others.bytes.equals(first.bytes)).toBe(false);
    const { bytes } = first;
    expect([bytes.readUInt32BE(16), bytes.readUInt32BE(20)]).toEqual([336, 336]);
    const data = bytes.indexOf("IDAT");
    expect(inflateSync(bytes.subarray(data + 4, data + 4 + bytes.readUInt32BE(data - 4)))).toHaveLength(336 * 43);
  });
});

describe("a picture", () => {
  it.each([
    ["PNG", png, "image/png"],
    ["JPEG", jpeg(640, 480), "image/jpeg"],
    ["lossy WebP", webp("VP8 ", [0, 0, 0, 0x9d, 0x01, 0x2a, 100, 0, 50, 0]), "image/webp"],
    ["lossless WebP", webp("VP8L", [0x2f, 99, 0x40, 0x0c, 0, 0, 0, 0, 0, 0]), "image/webp"],
    ["extended WebP", webp("VP8X", [0, 0, 0, 0, 99, 0, 0, 49, 0, 0]), "image/webp"],
  ])("a %s is recognized by its content and served unchanged", async (_what, image, type) => {
    const someone = await member(app, owner);
    const set = await put(someone.token, image, "image/avif");
    expect(set.body).toEqual({ etag: expect.stringMatching(/^"[\w-]+"$/u), content_type: type });
    const shown = await get(owner, someone.userUuid);
    expect(shown.bytes.equals(image)).toBe(true);
    expect([shown.headers.get("etag"), shown.headers.get("content-type")]).toEqual([set.body.etag, type]);
  });

  it("a changed picture is recorded in the log of the organization, a refused one is not", async () => {
    const someone = await member(app, owner);
    const before = (await auditOf(app, owner, "user.picture_updated")).length;
    expect((await put(someone.token, png)).status).toBe(200);
    expect((await put(someone.token, Buffer.alloc(0))).status).toBe(415);
    const events = await auditOf(app, owner, "user.picture_updated");
    expect(events).toHaveLength(before + 1);
    expect(events[0]).toMatchObject({
      outcome: "success",
      user_uuid: someone.userUuid,
      resource_id: someone.userUuid,
      metadata: { content_type: "image/png" },
      actor: { id: someone.userUuid },
    });
  });

  it.each<[string, Buffer, string]>([
    ["nothing", Buffer.alloc(0), "415 unsupported_media_type"],
    ["text", Buffer.from("<svg xmlns='http://www.w3.org/2000/svg'/>"), "415 unsupported_media_type"],
    ["a GIF", Buffer.from("GIF89a".padEnd(64, "\0")), "415 unsupported_media_type"],
    ["a PNG cut short", png.subarray(0, 20), "415 unsupported_media_type"],
    [
      "a PNG whose head was changed",
      Buffer.concat([png.subarray(0, 16), Buffer.from([0, 0, 0, 9]), png.subarray(20)]),
      "415 unsupported_media_type",
    ],
    ["a PNG without a size", sized(0, 10), "415 unsupported_media_type"],
    ["a JPEG without a frame", jpeg(10, 10).subarray(0, 24), "415 unsupported_media_type"],
    ["a JPEG without a height", jpeg(10, 0), "415 unsupported_media_type"],
    [
      "a WebP that claims to be longer",
      webp("VP8X", [0, 0, 0, 0, 99, 0, 0, 49, 0, 0]).subarray(0, 20),
      "415 unsupported_media_type",
    ],
    ["a PNG as wide as may be", sized(4096, 4096), "200"],
    ["a PNG too wide", sized(4097, 1), "413 payload_too_large"],
    ["a JPEG too high", jpeg(1, 4097), "413 payload_too_large"],
    ["an extended WebP too wide", webp("VP8X", [0, 0, 0, 0, 0, 0x10, 0, 0, 0, 0]), "413 payload_too_large"],
    ["more than 1 MiB", Buffer.concat([png, Buffer.alloc(1024 * 1024)]), "413 payload_too_large"],
    ["1 MiB", Buffer.concat([png, Buffer.alloc(1024 * 1024 - png.length)]), "200"],
  ])("a picture of %s is accepted or refused by its content and size", async (_what, image, expected) => {
    expect(outcome(await put(owner.token, image))).toBe(expected);
  });

  it.each([undefined, "application/octet-stream", "application/json", "text/html", "image"])(
    "a picture sent with the content type %s returns 415",
    async (type) => {
      const headers = {
        authorization: `Bearer ${owner.token}`,
        ...(type === undefined ? {} : { "content-type": type }),
      };
      const url = `${app.url}/api/profile/picture`;
      const response = await fetch(url, { method: "PUT", headers, body: new Uint8Array(png) });
      expect([response.status, ((await response.json()) as { code: string }).code]).toEqual([
        415,
        "unsupported_media_type",
      ]);
    },
  );

  it("a picture is visible within the organization alone", async () => {
    const stranger = await founder(app);
    for (const id of [owner.userUuid, "0b1d2a3e-aaaa-4000-8000-00000000000f"]) {
      const { status, bytes } = await get(stranger, id);
      expect([status, JSON.parse(bytes.toString()).code]).toEqual([404, "user_not_found"]);
    }
    expect(outcome(await app.call("GET", "/api/users/x/picture", { token: owner.token }))).toBe("400 invalid_uuid");
    expect(outcome(await app.call("GET", `/api/users/${owner.userUuid}/picture`))).toBe("401 unauthorized");
    expect(outcome(await app.call("PUT", "/api/profile/picture", { body: png }))).toBe("401 unauthorized");
  });
});
