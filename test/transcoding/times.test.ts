import { expect, it } from "vitest";
import { isoText } from "../../src/transcoding/index.ts";

const DAY_MS = 86_400_000;

it.each([
  ["the first and the last millisecond that can be printed", ["0001-01-01T00:00:00.000Z", "9999-12-31T23:59:59.999Z"]],
  ["days before and after 1970, in turn", ["1969-12-31T23:59:59.999Z", "1970-01-01T00:00:00.000Z"]],
  ["leap days", ["2024-02-29T12:34:56.007Z", "2100-03-01T00:00:00.040Z", "2000-02-29T23:59:59.500Z"]],
])("times are printed as ISO 8601 to the millisecond: %s", (_, texts) => {
  for (const text of [...texts, ...texts.toReversed()]) expect(isoText(Date.parse(text))).toBe(text);
});

it("every millisecond around midnight is printed as Date.toISOString prints it", () => {
  for (const day of [0, 1, 10_957, 19_782, 20_000])
    for (let ms = day * DAY_MS - 1_500; ms < day * DAY_MS + 1_500; ms++)
      expect(isoText(ms)).toBe(new Date(ms).toISOString());
});
