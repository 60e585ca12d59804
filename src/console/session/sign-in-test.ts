/** How the `state` of a sign-in begins that only tests a connection. */
export const testStatePrefix = "sign-in-test.";

const channel = new BroadcastChannel("atrium-sign-in-test");

/** Tells the page that started a test that the browser came back. */
export const signInTests = {
  /** Listens for the states of tests that came back; returns a function that ends it. */
  subscribe(listener: (state: string) => void): () => void {
    const heard = ({ data }: MessageEvent<string>): void => listener(data);
    channel.addEventListener("message", heard);
    return () => channel.removeEventListener("message", heard);
  },
  passed: (state: string): void => channel.postMessage(state),
};
