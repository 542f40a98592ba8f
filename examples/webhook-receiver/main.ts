import pg from 'pg'
import { createReceiver, SCHEMA } from './receiver.ts'

const { DATABASE_URL, WEBHOOK_SECRET, PORT = '8080' } = process.env
if (!DATABASE_URL || !WEBHOOK_SECRET) {
  console.error('Set DATABASE_URL and WEBHOOK_SECRET, the signing secret of the destination.')
  process.exit(1)
}
const pool = new pg.Pool({ connectionString: DATABASE_URL })
await pool.query(SCHEMA)
createReceiver({ pool, secrets: WEBHOOK_SECRET.split(',') }).listen(Number(PORT), '127.0.0.1')
console.log(`The receiver listens on http://127.0.0.1:${PORT}`)
