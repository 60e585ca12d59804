/**
 * Signs in, with a second factor where the person has one, shows who is signed in, switches the organization, and adds
 * an authenticator by QR code. Any number of tabs share the session.
 *
 * VITE_ATRIUM_URL  where the service is; in production, its SERVICE_CORS_ORIGINS names the origin of this page
 */
import { createAtrium, isAtriumError, localStorageStore, paginate, session } from "@atrium/client";
import { renderSVG } from "uqr";

const env = import.meta.env as { VITE_ATRIUM_URL?: string };

/** Where the session is kept. */
const KEY = "atrium.session";
// All tabs of this origin share the store, and take turns to refresh. Scripts of the page can read it: a page that the
// service's own origin serves uses `session({ cookie: true })` instead.
const credential = session({ store: localStorageStore(KEY) });
const atrium = createAtrium({ baseUrl: env.VITE_ATRIUM_URL ?? "http://localhost:8080", credential });

/** What proves the password until the code of the second factor is there; it is valid for five minutes. */
let mfaToken = "";
/** The authenticator that is being added. */
let factorId = 0;

const find = <E extends HTMLElement>(id: string): E => document.getElementById(id) as E;
const say = (text: string): void => void (find("message").textContent = text);
/** Shows one part of the page. */
function show(part: "sign-in" | "second-factor" | "signed-in"): void {
  for (const id of ["sign-in", "second-factor", "signed-in"]) find(id).hidden = id !== part;
}

/** Shows who is signed in, and the organizations that the person may switch to. */
async function showCaller(): Promise<void> {
  // All three find an expired token, and wait for the same refresh.
  const [me, organizations, factors] = await Promise.all([
    atrium.access.getMe({}),
    paginate(atrium.users.listOrganizations, {}).toArray(),
    atrium.mfa.getMfaStatus({}),
  ]);
  // Another tab may have signed out meanwhile.
  if (localStorage.getItem(KEY) === null) return;
  find("caller").textContent = `${me.email ?? ""} in ${me.orgName ?? "no organization"}`;
  find("organization").replaceChildren(
    ...organizations.map(({ name, orgUuid }) => new Option(name, orgUuid, false, orgUuid === me.orgUuid)),
  );
  find("add-factor").hidden = factors.hasActiveTotp;
  show("signed-in");
}

/** Runs what an event asks for. Every error of the service has a code. */
async function run(work: () => Promise<void>): Promise<void> {
  try {
    say("");
    await work();
  } catch (error) {
    if (!isAtriumError(error)) throw error;
    // A session that the service has ended is gone from the store.
    if (localStorage.getItem(KEY) === null && find("second-factor").hidden) show("sign-in");
    say(`${error.rawMessage} (${error.errorCode})`);
  }
}

/** Handles a form with the values of its fields. */
function onSubmit(id: string, work: (values: Record<string, string>) => Promise<void>): void {
  const form = find<HTMLFormElement>(id);
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    void run(async () => {
      await work(Object.fromEntries(new FormData(form)) as Record<string, string>);
      form.reset();
    });
  });
}

onSubmit("sign-in", async ({ email = "", password = "" }) => {
  const login = await atrium.login.login({ email, password });
  if (login.mfaRequired === true) {
    mfaToken = login.mfaToken ?? "";
    show("second-factor");
    return;
  }
  await credential.signIn(login);
  await showCaller();
});

onSubmit("second-factor", async ({ code = "" }) => {
  await credential.signIn(await atrium.mfa.challengeTotp({ mfaToken, code }));
  await showCaller();
});

find("organization").addEventListener("change", () => {
  const orgUuid = find<HTMLSelectElement>("organization").value;
  void run(async () => {
    // The tokens of the other organization replace those of this one, in every tab.
    await credential.signIn(await atrium.sessions.switchOrganization({ orgUuid }));
    await showCaller();
  });
});

find("reload").addEventListener("click", () => void run(showCaller));

find("sign-out").addEventListener("click", () => {
  void run(async () => {
    await atrium.login.logout({});
    await credential.clear();
    show("sign-in");
  });
});

find("add-factor").addEventListener("click", () => {
  void run(async () => {
    const { data } = await atrium.mfa.createFactor({ factorType: "totp" });
    factorId = data?.id ?? 0;
    // The address holds the secret: it is drawn here, and leaves the page for nowhere.
    find("qr").innerHTML = renderSVG(data?.otpauthUri ?? "");
    find("confirm-factor").hidden = false;
  });
});

onSubmit("confirm-factor", async ({ code = "" }) => {
  await atrium.mfa.verifyFactor({ id: factorId, code });
  find("confirm-factor").hidden = true;
  find("qr").replaceChildren();
  await showCaller();
});

// Another tab has signed in or out, switched or refreshed.
addEventListener("storage", ({ key, newValue }) => {
  if (key !== KEY) return;
  if (newValue === null) show("sign-in");
  else void run(showCaller);
});

if (localStorage.getItem(KEY) === null) show("sign-in");
else void run(showCaller);
