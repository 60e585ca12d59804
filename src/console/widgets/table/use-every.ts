import type { DescMessage } from "@bufbuild/protobuf";
import { useQuery } from "@tanstack/react-query";
import type { Source } from "./parts.ts";
import { readUntil } from "./read-until.ts";

/** Every row of a list, which can have more than the service answers at once. For lists that are shown whole. */
export const useEvery = <I extends DescMessage, O extends DescMessage>(
  source: Source<I, O>,
  options: { enabled?: boolean } = {},
) =>
  useQuery({
    ...options,
    queryKey: ["every", source.method.parent.typeName, source.method.name, source.input],
    queryFn: async ({ signal }) => ({ data: await readUntil(source, undefined, signal) }),
  });
