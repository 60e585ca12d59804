import { workflowBundle } from "./bundle.ts";

// The last step of an installation, so that the program starts where nothing may be written any more.
try {
  await workflowBundle();
} catch (error) {
  process.stderr.write(
    `atrium: the workflow code could not be bundled now and will be at the first start: ${(error as Error).message}\n`,
  );
}
