import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { timestampDate } from "@bufbuild/protobuf/wkt";

/** How much of a life is left, as a bar; what it says stands beside it as a time. */
export function Life({ from, to }: { from: Timestamp | undefined; to: Timestamp | undefined }) {
  if (from === undefined || to === undefined) return null;
  const [start, end] = [timestampDate(from).getTime(), timestampDate(to).getTime()];
  return (
    <meter
      min={0}
      max={Math.max(1, end - start)}
      low={(end - start) / 5}
      value={Math.max(0, end - Date.now())}
      aria-label="Life left"
    />
  );
}
