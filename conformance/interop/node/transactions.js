// transactions.js BOOTSTRAP: transactions with offsets, with kafkajs. Prints what it saw.
const { Kafka, logLevel } = require('kafkajs')

const TOPIC = 'kafkajs-target'
const GROUP = 'kafkajs-copy'
const PATIENCE = 30_000

async function transactions(kafka) {
  const admin = kafka.admin()
  const producer = kafka.producer({
    transactionalId: 'kafkajs-copy',
    idempotent: true,
    maxInFlightRequests: 1,
  })
  await admin.connect()
  await producer.connect()
  await admin.createTopics({ topics: [{ topic: TOPIC, numPartitions: 1 }] })
  const offsets = []
  for (const [prefix, offset, commits] of [['c', 5, true], ['x', 10, false], ['d', 10, true]]) {
    const transaction = await producer.transaction()
    const messages = [0, 1, 2, 3, 4].map(n => ({ value: `${prefix}${n}`, partition: 0 }))
    await transaction.send({ topic: TOPIC, messages })
    await transaction.sendOffsets({
      consumerGroupId: GROUP,
      topics: [{ topic: TOPIC, partitions: [{ partition: 0, offset: String(offset) }] }],
    })
    await (commits ? transaction.commit() : transaction.abort())
    const [fetched] = await admin.fetchOffsets({ groupId: GROUP, topics: [TOPIC] })
    offsets.push(fetched.partitions[0].offset)
  }
  await producer.disconnect()
  await admin.disconnect()
  return offsets
}

// Values in the order of the log.
async function read(kafka, count, readUncommitted) {
  const consumer = kafka.consumer({ groupId: `kafkajs-read-${count}`, readUncommitted })
  await consumer.connect()
  await consumer.subscribe({ topics: [TOPIC], fromBeginning: true })
  const values = []
  await new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error(`only ${values}`)), PATIENCE).unref()
    consumer.on(consumer.events.CRASH, event => reject(event.payload.error))
    consumer.run({
      eachMessage: async ({ message }) => {
        values.push(message.value.toString())
        if (values.length >= count) resolve()
      },
    })
  })
  await consumer.disconnect()
  return values
}

async function main(bootstrap) {
  const kafka = new Kafka({ brokers: [bootstrap], logLevel: logLevel.ERROR })
  const offsets = await transactions(kafka)
  const committed = await read(kafka, 10, false)
  const all = await read(kafka, 15, true)
  console.log('offsets:', ...offsets)
  console.log('committed:', ...committed)
  console.log('all:', all.length)
}

main(process.argv[2]).catch(error => {
  console.error(error)
  process.exit(1)
})
