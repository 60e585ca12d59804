import type { DescMessage } from "@bufbuild/protobuf";
import { transport } from "../../session/session.ts";
import { MOST_OFFSET, requestOf, rowsOf } from "./parts.ts";
import type { RowOf, Source } from "./parts.ts";

/** The largest page of every list. */
const MOST = 200;

/** Reads a list from its start, up to the first row that is wanted, or to its end. @throws AtriumError */
export async function readUntil<I extends DescMessage, O extends DescMessage>(
  source: Source<I, O>,
  isWanted: (row: RowOf<O>) => boolean = () => false,
  signal?: AbortSignal,
): Promise<RowOf<O>[]> {
  const read: RowOf<O>[] = [];
  for (let offset = 0; offset <= MOST_OFFSET; offset += MOST) {
    const input = requestOf(source, { q: "", sort: "", filters: {}, limit: MOST, offset });
    const { message } = await transport.unary(source.method, signal, undefined, undefined, input);
    const rows = rowsOf(message);
    read.push(...rows);
    if (rows.length < MOST || rows.some(isWanted)) break;
  }
  return read;
}
