import { LoginService } from "../../../gen/atrium/login/v1/login_pb.ts";
import { TokenAction } from "./TokenAction.tsx";

/** Confirms the address of a sign-up. */
export default function ConfirmEmail() {
  return (
    <TokenAction
      method={LoginService.method.confirmEmail}
      title="Confirm your address"
      about="Press the button to confirm that this mailbox is yours and that you made the account."
      button="Confirm"
      done="Your address is confirmed."
    />
  );
}
