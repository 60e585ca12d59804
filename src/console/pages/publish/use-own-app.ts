import { useQuery } from "@tanstack/react-query";
import type { App } from "../../../../gen/atrium/marketplace/v1/marketplace_pb.ts";
import { PublisherService } from "../../../../gen/atrium/marketplace/v1/publisher_pb.ts";
import { readUntil } from "../../widgets/table/read-until.ts";

/**
 * An app of the caller's organization as it is now; null when it has none with this id. Publishers have no rpc that
 * reads one app, and can have more than a list answers at once.
 */
export async function ownApp(appId: string, signal?: AbortSignal): Promise<App | null> {
  const isIt = (app: App): boolean => app.appId === appId;
  return (await readUntil({ method: PublisherService.method.listApps }, isIt, signal)).find(isIt) ?? null;
}

export const useOwnApp = (appId: string) =>
  useQuery({ queryKey: ["own-app", appId], queryFn: ({ signal }) => ownApp(appId, signal) });
