import { useQuery } from "@connectrpc/connect-query";
import { useEffect, useRef, useState } from "react";
import { LoginService } from "../../../gen/atrium/login/v1/login_pb.ts";
import { endOtherSessions } from "../session/end-others.ts";
import { failureOf } from "../session/failures.ts";
import type { Failure } from "../session/failures.ts";
import { Confirm } from "../widgets/Dialog.tsx";
import { toast } from "../widgets/toasts.ts";
import { plural } from "../widgets/words.ts";
import { leave } from "./leave.ts";

interface SignOutEverywhereProps {
  open: boolean;
  /** Spares this session. */
  butHere?: boolean;
  onClose: () => void;
}

/** Asks before the sessions of the caller end on all devices, and says how many these are. */
export function SignOutEverywhere({ open, butHere = false, onClose }: SignOutEverywhereProps) {
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState<Failure>();
  const job = useRef<AbortController>(undefined);
  useEffect(() => () => job.current?.abort(), []);
  const sessions = useQuery(LoginService.method.listOwnSessions, { limit: 1 }, { enabled: open, staleTime: 0 });
  const verb = butHere ? "Sign out everywhere else" : "Sign out everywhere";

  async function end(): Promise<void> {
    const { signal } = (job.current = new AbortController());
    setBusy(true);
    setFailure(undefined);
    try {
      const ended = await endOtherSessions(signal);
      if (butHere || signal.aborted) toast(`${plural(ended, "session")} ended`);
      else leave();
      if (!signal.aborted) onClose();
    } catch (error) {
      setFailure(failureOf(error));
    } finally {
      setBusy(false);
    }
  }

  const total = sessions.data?.total;
  return (
    <Confirm
      title={`${verb}?`}
      about={butHere ? endsOthers(total) : endsAll(total)}
      verb={verb}
      open={open}
      call={{ busy, failure }}
      onCancel={() => {
        job.current?.abort();
        onClose();
      }}
      onConfirm={() => void end()}
    />
  );
}

function endsAll(total: number | undefined): string {
  const ends = total === undefined ? "Every session of yours ends" : `This ends ${plural(total, "session")}`;
  return `${ends} at once, on all devices, this one too. You sign in again on each.`;
}

function endsOthers(total: number | undefined): string {
  if (total === 1) return "You are signed in nowhere else.";
  const ends = total === undefined ? "Every other session of yours ends" : `This ends ${plural(total - 1, "session")}`;
  return `${ends} at once, on all devices. This one goes on.`;
}
