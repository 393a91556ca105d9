// The beginning of classic scripts, for pages that are opened as files: where the files of the module are, and how one is loaded.
// Each is a script that holds a text, or base64 of gzip.

globalThis.toksmithFiles ??= {};
toksmithFiles.url ??= globalThis.document?.currentScript?.src ?? globalThis.location.href;

/** The bytes of a file, whose script is loaded if it is needed. */
toksmithFiles.bytes ??= async (name) => {
  if (!(name in toksmithFiles)) {
    const script = Object.assign(document.createElement("script"), { src: new URL(`${name}.js`, toksmithFiles.url) });
    await new Promise((resolve, reject) => {
      script.onload = resolve;
      script.onerror = () => reject(new Error(`${script.src} cannot be loaded`));
      document.head.append(script);
    });
  }
  const packed = await fetch(`data:application/gzip;base64,${toksmithFiles[name]}`);
  const unpacked = packed.body.pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(unpacked).arrayBuffer());
};
