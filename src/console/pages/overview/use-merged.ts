import type { DescMessage, DescMethodUnary, MessageInitShape, MessageShape } from "@bufbuild/protobuf";
import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { timestampMs } from "@bufbuild/protobuf/wkt";
import { createQueryOptions } from "@connectrpc/connect-query";
import { useQueries } from "@tanstack/react-query";
import type { UseQueryResult } from "@tanstack/react-query";
import { transport } from "../../session/session.ts";

/** Counts a day by their names. */
export interface Day {
  readonly start: Timestamp | undefined;
  readonly counts: Readonly<Record<string, number>>;
}

/** Asks one rpc several times and adds the counts of each day up. */
export function useMergedDays<I extends DescMessage, O extends DescMessage>(
  method: DescMethodUnary<I, O>,
  inputs: readonly MessageInitShape<I>[],
  daysOf: (answer: MessageShape<O>) => readonly Day[],
): UseQueryResult<readonly Day[], unknown> {
  return useQueries({
    queries: inputs.map((input) => ({ ...createQueryOptions(method, input, { transport }), staleTime: 60_000 })),
    combine: (answers) => {
      const first = answers[0];
      const failed = answers.find(({ error }) => error !== null);
      const isComplete = answers.every(({ data }) => data !== undefined);
      return {
        ...first,
        error: failed?.error ?? null,
        data: isComplete ? addUp(answers.map(({ data }) => daysOf(data as MessageShape<O>))) : undefined,
        refetch: () => Promise.all(answers.map(({ refetch }) => refetch())),
      } as unknown as UseQueryResult<readonly Day[], unknown>;
    },
  });
}

function addUp(lists: readonly (readonly Day[])[]): readonly Day[] {
  const days = new Map<number, Day>();
  for (const { start, counts } of lists.flat()) {
    const at = start === undefined ? 0 : timestampMs(start);
    const sum: Record<string, number> = { ...days.get(at)?.counts };
    for (const [name, count] of Object.entries(counts)) sum[name] = (sum[name] ?? 0) + count;
    days.set(at, { start, counts: sum });
  }
  return [...days].sort(([one], [other]) => one - other).map(([, day]) => day);
}
