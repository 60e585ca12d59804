import { useQuery } from "@connectrpc/connect-query";
import { LoginService } from "../../../../gen/atrium/login/v1/login_pb.ts";
import { MfaService } from "../../../../gen/atrium/mfa/v1/mfa_pb.ts";
import { ButtonLink } from "../../widgets/Button.tsx";
import { Facts, Section } from "../../widgets/Page.tsx";
import { Answer, Failed } from "../../widgets/States.tsx";

/** How well the caller's own account is protected. */
export function OwnSecurity() {
  const status = useQuery(MfaService.method.getMfaStatus, {});
  const sessions = useQuery(LoginService.method.listOwnSessions, { limit: 1 });
  return (
    <Section title="Your security" actions={<ButtonLink to="/console/me/security">Security</ButtonLink>}>
      <Answer of={status}>
        {({ hasActiveTotp, hasRecoveryCodes }) => (
          <Facts>
            {[
              ["Authenticator", hasActiveTotp ? "Active" : "None: a stolen password or mailbox is enough to sign in"],
              ["Recovery codes", hasRecoveryCodes ? "Some are left" : "None"],
              sessions.data !== undefined && ["Sessions", sessions.data.total],
            ]}
          </Facts>
        )}
      </Answer>
      {sessions.data === undefined && sessions.error !== null && (
        <Failed error={sessions.error} retry={() => void sessions.refetch()} />
      )}
    </Section>
  );
}
