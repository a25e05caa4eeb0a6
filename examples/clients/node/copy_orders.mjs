// Copies a topic exactly once with kafkajs as it is. kafkajs has no share consumer, so a helper
// reads (share_lines.py); everything else, the transaction and the acknowledgement in it, is here.
//
// node copy_orders.mjs BOOTSTRAP INPUT OUTPUT GROUP [TRANSACTIONAL-ID [ABORT-PERCENT [IDLE-SECONDS]]]
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { Kafka, Partitioners, logLevel } from 'kafkajs'

const [bootstrap, input, output, group, transactionalId = 'copy-orders', abort = '0', idle] =
  process.argv.slice(2)

const kafka = new Kafka({ brokers: [bootstrap], logLevel: logLevel.ERROR })
const producer = kafka.producer({
  transactionalId,
  maxInFlightRequests: 1,
  idempotent: true,
  createPartitioner: Partitioners.DefaultPartitioner,
})
await producer.connect()

const helper = fileURLToPath(new URL('share_lines.py', import.meta.url))
const python = process.env.PYTHON ?? 'python3'
const consumer = spawn(python, [helper, bootstrap, input, group], {
  stdio: ['pipe', 'pipe', 'inherit'],
})
consumer.on('exit', code => {
  if (code) {
    process.exit(code)
  }
})

// Ends the helper, and with it the loop below, after so long without a record.
const rest = () => setTimeout(() => consumer.kill(), Number(idle) * 1000)
let timer = idle && rest()
for await (const line of createInterface({ input: consumer.stdout })) {
  clearTimeout(timer)
  const sent = await copy(JSON.parse(line))
  // For the consumer's books only: in this mode a plain acceptance settles nothing. What an abort gave
  // back may be on its way there again, and a release would free that delivery.
  consumer.stdin.write(sent ? 'accept\n' : 'release\n')
  timer = idle && rest()
}
await producer.disconnect()

/** One transaction. Whether its acknowledgements were sent, whatever became of them. */
async function copy(records) {
  const transaction = await producer.transaction()
  let sent = false
  try {
    const messages = records.map(({ key, value }) => ({ key, value: value.toUpperCase() }))
    await transaction.send({ topic: output, messages })
    // All of a transaction's acknowledgements in one call: kafkajs speaks transaction version 1,
    // where the broker takes one.
    const partitions = acknowledgements(records)
    sent = true
    await transaction.sendOffsets({ consumerGroupId: group, topics: [{ topic: input, partitions }] })
    if (Math.random() * 100 >= Number(abort)) {
      await transaction.commit()
      return sent
    }
  } catch (error) {
    console.error('aborting:', error.message)
  }
  // Where this fails the program ends: the next start fences this producer, which aborts.
  await transaction.abort()
  return sent
}

/** One entry for each partition: `acks:accept=0-9@1,12@3`, offsets with their delivery counts. */
function acknowledgements(records) {
  const spans = new Map()
  for (const { partition, offset, count } of records) {
    const own = spans.get(partition) ?? []
    const last = own.at(-1)
    if (last && last.last === BigInt(offset) - 1n && last.count === count) {
      last.last = BigInt(offset)
    } else {
      own.push({ first: BigInt(offset), last: BigInt(offset), count })
    }
    spans.set(partition, own)
  }
  return [...spans].map(([partition, own]) => ({
    partition,
    offset: String(own.at(-1).last + 1n), // Not used.
    metadata: `acks:accept=${own.map(s => `${s.first}-${s.last}@${s.count}`).join(',')}`,
  }))
}
