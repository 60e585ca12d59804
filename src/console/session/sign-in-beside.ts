import { createClient } from "@connectrpc/connect";
import { LoginService } from "../../../gen/atrium/login/v1/login_pb.ts";
import { MfaService } from "../../../gen/atrium/mfa/v1/mfa_pb.ts";
import { plainTransport } from "./transport.ts";

/** What a door answers: the token, or what the second factor needs. */
export interface Beside {
  accessToken?: string | undefined;
  mfaToken?: string | undefined;
}

const login = createClient(LoginService, plainTransport);
const mfa = createClient(MfaService, plainTransport);

/** Signs in to another account without cookie mode, so that the cookie and the session of this browser stay. */
export const signInBeside = (orgName: string, email: string, password: string): Promise<Beside> =>
  login.login({ orgName, email, password });

/** Completes it with the second factor. */
export const answerFactor = (mfaToken: string, code: string): Promise<Beside> =>
  mfa.challengeTotp({ mfaToken, code: code.replaceAll(/\s/gu, "") });
