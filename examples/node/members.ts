/**
 * Signs in, lists the members of the organization, and rotates its signing key, which demands a step-up.
 *
 * ATRIUM_URL, ATRIUM_EMAIL, ATRIUM_PASSWORD, ATRIUM_ORG  where and as whom
 */
import { createAtrium, isAtriumError, paginate, session } from "@atrium/client";

const { ATRIUM_URL = "http://localhost:8080", ATRIUM_EMAIL = "", ATRIUM_PASSWORD = "", ATRIUM_ORG = "" } = process.env;

const credential = session({ onSignedOut: () => console.log("The session has ended.") });
const atrium = createAtrium({
  baseUrl: ATRIUM_URL,
  credential,
  // Called when an operation demands a new proof of who you are.
  async onStepUp() {
    const { challengeId } = await atrium.stepUp.createChallenge({ method: "password" });
    return atrium.stepUp.verifyChallenge({ challengeId, password: ATRIUM_PASSWORD });
  },
});

try {
  await credential.signIn(
    await atrium.login.login({ email: ATRIUM_EMAIL, password: ATRIUM_PASSWORD, orgName: ATRIUM_ORG }),
  );
} catch (error) {
  if (!isAtriumError(error, "unauthorized")) throw error;
  console.log("The email, the password or the organization is wrong.");
  process.exit(1);
}

for await (const member of paginate(atrium.users.listUsers, { status: "active" })) {
  console.log(`${member.email} ${member.role}`);
}

const { orgUuid = "" } = await atrium.access.getMe({});
const { newKeyId } = await atrium.signingKeys.rotateSigningKey({ orgUuid });
console.log(`Tokens are now signed by ${newKeyId}`);
