import { useQuery } from "@connectrpc/connect-query";
import { Link } from "@tanstack/react-router";
import { Circle, CircleCheck } from "lucide-react";
import { CredentialsService } from "../../../../gen/atrium/credentials/v1/credentials_pb.ts";
import { BuyerService } from "../../../../gen/atrium/marketplace/v1/buyer_pb.ts";
import { MfaService } from "../../../../gen/atrium/mfa/v1/mfa_pb.ts";
import { UsersService } from "../../../../gen/atrium/users/v1/users_pb.ts";
import { WebhooksService } from "../../../../gen/atrium/webhooks/v1/webhooks_pb.ts";
import { useOrg } from "../../session/use-session.ts";
import { Section } from "../../widgets/Page.tsx";
import { Failed } from "../../widgets/States.tsx";
import style from "./Overview.module.css";

const TITLE = "Finish setting up";
const KEPT = { staleTime: 60_000 };

/** What a new organization has not done yet; it disappears with the last step. */
export function Setup() {
  const orgUuid = useOrg();
  const factor = useQuery(MfaService.method.getMfaStatus, {}, KEPT);
  const members = useQuery(UsersService.method.listUsers, { limit: 1 }, KEPT);
  const keys = useQuery(CredentialsService.method.listApiKeys, { orgUuid, limit: 1 }, KEPT);
  const webhooks = useQuery(WebhooksService.method.listWebhooks, { limit: 1 }, KEPT);
  const installs = useQuery(BuyerService.method.listInstalls, { limit: 1 }, KEPT);
  const steps: readonly (readonly [done: boolean | undefined, to: string, text: string])[] = [
    [factor.data?.hasActiveTotp, "/console/me/security", "Protect your account with an authenticator"],
    [isMore(members.data?.total, 1), "/console/members", "Invite your team"],
    [isMore(keys.data?.total, 0), "/console/api-keys", "Create an API key for a program"],
    [isMore(webhooks.data?.total, 0), "/console/webhooks", "Send events to a webhook"],
    [isMore(installs.data?.total, 0), "/console/apps", "Install an app"],
  ];
  const failed = [factor, members, keys, webhooks, installs].filter(({ error, data }) => error && data === undefined);
  if (failed[0] !== undefined)
    return (
      <Section title={TITLE} about="Some of what is set up cannot be read.">
        <Failed error={failed[0].error} retry={() => failed.forEach(({ refetch }) => void refetch())} />
      </Section>
    );
  const known = steps.filter(([done]) => done !== undefined);
  const done = known.filter(([isDone]) => isDone === true).length;
  // Nothing is shown before it is known, and nothing moves afterwards but what was done.
  if (known.length < steps.length || done === steps.length) return null;
  return (
    <Section title={TITLE} about={`${done} of ${steps.length} done.`}>
      <ol className={style["steps"]}>
        {steps.map(([isDone, to, text]) => (
          <li key={to} data-done={isDone === true || undefined}>
            {isDone === true ? (
              <CircleCheck size={18} aria-label="Done" role="img" />
            ) : (
              <Circle size={18} aria-label="To do" role="img" />
            )}
            <Link to={to}>{text}</Link>
          </li>
        ))}
      </ol>
    </Section>
  );
}

const isMore = (total: number | undefined, than: number): boolean | undefined =>
  total === undefined ? undefined : total > than;
