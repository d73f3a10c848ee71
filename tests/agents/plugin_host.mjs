// What DSH does with a plugin, as far as ours is concerned: `node plugin_host.mjs PLUGIN CASE` prints what enters.
const [, , plugin, text] = process.argv
const { config, header, messages, decision, abort } = JSON.parse(text)
const { apply } = await import(plugin)
const listeners = {}
apply({ on: (event, listener) => (listeners[event] = listener) }, config)
const stop = new AbortController()
if (abort) setTimeout(() => stop.abort(), 30)
const step = { agent: { session: { header } }, messages, turn: 1, step: 1, signal: stop.signal }
const result = await listeners['agent/pre-step'](step, async () => decision ?? { kind: 'enter', messages })
process.stdout.write(JSON.stringify({ events: Object.keys(listeners), result }))
