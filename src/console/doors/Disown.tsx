import { LoginService } from "../../../gen/atrium/login/v1/login_pb.ts";
import { TokenAction } from "./TokenAction.tsx";

/** Ends an account that somebody else made with one's address. */
export default function Disown() {
  return (
    <TokenAction
      method={LoginService.method.disownEmail}
      title="I did not sign up"
      about={
        "Somebody made an account with your address, which was never confirmed. Removing your address ends the " +
        "account and deletes the organizations that nobody else belongs to. This cannot be undone."
      }
      button="Remove my address"
      done="The account has ended, and your address is free."
      grave
    />
  );
}
