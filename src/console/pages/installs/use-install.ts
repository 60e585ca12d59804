import { createClient } from "@connectrpc/connect";
import { useCallback, useEffect, useState } from "react";
import { BuyerService } from "../../../../gen/atrium/marketplace/v1/buyer_pb.ts";
import type { Install } from "../../../../gen/atrium/marketplace/v1/marketplace_pb.ts";
import { failureOf } from "../../session/failures.ts";
import { transport } from "../../session/session.ts";

const client = createClient(BuyerService, transport);

/** Waits between attempts to open the stream again. */
const WAITS_MS = [500, 1_000, 2_000, 4_000, 8_000];
/** How often the install is read while there is no stream. */
const POLL_MS = 3_000;

/** An install as it changes. */
export interface Watched {
  install: Install | undefined;
  /** The error of the first read; later ones are waited out. */
  error: unknown;
  /** Whether the stream is open. */
  live: boolean;
}

/** An install as it changes, and a way to begin anew after an error. */
export interface Following extends Watched {
  retry: () => void;
}

/**
 * Follows an install by its stream while the page is visible. HTTP/1.1 has six connections for a browser, so a hidden
 * tab gives its own back. Between attempts the install is read every three seconds.
 */
export function useInstall(installId: string): Following {
  const [watched, setWatched] = useState<Watched>({ install: undefined, error: undefined, live: false });
  const [attempts, setAttempts] = useState(0);
  const retry = useCallback(() => {
    setWatched((before) => ({ ...before, error: undefined }));
    setAttempts((count) => count + 1);
  }, []);

  useEffect(() => {
    let stop = new AbortController();
    let poll: ReturnType<typeof setInterval> | undefined;
    const quiet = (): void => clearInterval(poll);

    async function read(signal: AbortSignal): Promise<void> {
      try {
        const install = await client.getInstall({ installId }, { signal });
        setWatched((before) => ({ ...before, install, error: undefined }));
      } catch (error) {
        if (!signal.aborted) setWatched((before) => (before.install === undefined ? { ...before, error } : before));
      }
    }

    async function follow(signal: AbortSignal): Promise<void> {
      for (let attempt = 0; !signal.aborted; attempt++) {
        try {
          for await (const install of client.watchInstall({ installId }, { signal })) {
            attempt = 0;
            quiet();
            setWatched({ install, error: undefined, live: true });
          }
          // The stream ends by itself after the last change.
          return setWatched((before) => ({ ...before, live: false }));
        } catch (error) {
          if (signal.aborted) return;
          setWatched((before) => ({ ...before, live: false }));
          if (failureOf(error).code === "install_not_found") return void read(signal);
          quiet();
          void read(signal);
          poll = setInterval(() => void read(signal), POLL_MS);
        }
        const wait = WAITS_MS[Math.min(attempt, WAITS_MS.length - 1)];
        await new Promise((resolve) => setTimeout(resolve, wait));
      }
    }

    function update(): void {
      stop.abort();
      quiet();
      stop = new AbortController();
      if (document.visibilityState === "visible") void follow(stop.signal);
      else setWatched((before) => ({ ...before, live: false }));
    }

    update();
    document.addEventListener("visibilitychange", update);
    return () => {
      document.removeEventListener("visibilitychange", update);
      stop.abort();
      quiet();
    };
  }, [installId, attempts]);
  return { ...watched, retry };
}
