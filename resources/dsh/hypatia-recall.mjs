// Hypatia Companion in DSH: puts what memory holds on a prompt into the same request.
// It fails open: whatever goes wrong, and after 300 ms at the latest, DSH goes on as if this file were not there.
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { connect } from 'node:net'

const PATIENCE = 300
const LARGEST = 65536

export const name = 'hypatia-companion'

export function apply(ctx, config) {
  ctx.on('agent/pre-step', async (step, next) => {
    const decision = await next()
    try {
      const source = sourceFor(step.agent.session.header)
      const prompt = source && decision.kind === 'enter' && wordsOf(decision.messages)
      const text = prompt && (await recall(config.address, step, prompt))
      if (!text) return decision
      const message = { id: randomUUID(), role: 'user', content: [{ type: 'text', text }], source }
      return { ...decision, messages: [...decision.messages, message] }
    } catch {
      return decision
    }
  })
}

// A session refuses for ever what a message of another format version brings in: without a known version, nothing.
export function sourceFor(header) {
  if (header.origin === 'subagent' || !Number.isInteger(header.version) || header.version < 0) return null
  if (header.version >= 4) return { kind: `plugin:${name}`, form: 'recall' }
  return { kind: 'plugin', plugin: name, form: 'recall' }
}

function wordsOf(messages) {
  return messages
    .filter((message) => message.source?.kind === 'user')
    .flatMap((message) => message.content)
    .filter((block) => block.type === 'text')
    .map((block) => block.text)
    .join('\n')
    .trim()
}

async function recall(address, { agent, signal }, prompt) {
  const { id, cwd } = agent.session.header
  const where = JSON.parse(await readFile(address, 'utf8'))
  const input = { hook_event_name: 'UserPromptSubmit', session_id: id ?? agent.session.id, cwd, prompt }
  const calls = [['hello', { token: where.token }], ['agent/hook', { agent: 'dsh', input }]]
  return new Promise((resolve) => {
    const socket = connect(where.socket ? { path: where.socket } : { host: '127.0.0.1', port: where.port })
    let received = ''
    const end = (text) => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', giveUp)
      socket.destroy()
      resolve(text)
    }
    const giveUp = () => end('')
    const timer = setTimeout(giveUp, PATIENCE)
    signal?.addEventListener('abort', giveUp)
    socket.setEncoding('utf8')
    socket.on('error', giveUp)
    socket.on('close', giveUp)
    socket.on('data', (chunk) => {
      received += chunk
      const lines = received.split('\n')
      received = lines.pop()
      if (received.length > LARGEST) return giveUp()
      for (const line of lines) {
        const answer = parsed(line)
        if (answer.id === calls.length) end(typeof answer.result?.context === 'string' ? answer.result.context : '')
      }
    })
    calls.forEach(([method, body], i) =>
      socket.write(`${JSON.stringify({ jsonrpc: '2.0', id: i + 1, method, params: body })}\n`),
    )
  })
}

function parsed(line) {
  try {
    return JSON.parse(line) ?? {}
  } catch {
    return {}
  }
}
