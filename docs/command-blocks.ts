/** A fenced `sh` block that the test runs, found by its page and its first command. */
export interface TestedBlock {
  page: string
  begins: string
  /** What its output contains. */
  expected: RegExp
  /** Commands that the page leaves to the reader. */
  before?: string
  /** Placeholders of this block, beside those of every page. */
  values?: Record<string, string>
}

interface UntestedBlock {
  page: string
  begins: string
  /** The test that covers the commands, or the reason why none can. */
  coveredBy: string
}

const OPERATIONS = 'docs/operations'
const GUIDES = 'docs/guides'
const SIMULATOR = 'graph-simulator/README.md'
const YESTERDAY = new Date(Date.now() - 86_400_000).toISOString().slice(0, 10)

/** In the order in which they run on one installation. */
export const TESTED: readonly TestedBlock[] = [
  {
    page: 'README.md',
    begins: 'npx signalbox-server destination connect',
    expected: /Connected Pinterest \d+ as destination/,
  },
  { page: 'README.md', begins: 'SECRET=$(sed', expected: /HTTP\/1\.1 202 / },
  {
    page: 'README.md',
    begins: 'curl -s http://127.0.0.1:3000/api/v1/events/order-1001',
    expected: /"status":"(queued|sent|accepted)"/,
    values: { $SECRET: '$TRACKER_SECRET' },
  },
  {
    page: `${GUIDES}/quick-start.md`,
    begins: 'npx signalbox-server destination connect',
    expected: /Connected Pinterest \d+ as destination/,
  },
  {
    page: `${GUIDES}/quick-start.md`,
    begins:
      'SECRET=$(sed -n \'s/.*"tracker_secret": "\\(.*\\)".*/\\1/p\' .data/credentials.json)\n\ncurl -i',
    expected: /HTTP\/1\.1 202 /,
  },
  {
    page: `${GUIDES}/quick-start.md`,
    begins: 'curl -s http://127.0.0.1:3000/api/v1/events/order-2001',
    expected: /"explanation":"/,
    values: { $SECRET: '$TRACKER_SECRET' },
  },
  {
    page: `${GUIDES}/quick-start.md`,
    begins:
      'SECRET=$(sed -n \'s/.*"tracker_secret": "\\(.*\\)".*/\\1/p\' .data/credentials.json)\n\ncurl -s',
    expected: /consent_refused_for_platform[\s\S]*"platform":"pinterest","explanation":"Not sent: /,
  },
  {
    page: `${GUIDES}/quick-start.md`,
    begins: 'curl -s http://127.0.0.1:3000/api/v1/sandbox',
    expected: /"sbx_test_/,
  },
  {
    page: `${GUIDES}/batches.md`,
    begins: 'curl -s http://127.0.0.1:3000/api/v1/events/batch',
    expected: /"status":202,"event_id":"batch-1001".*"status":422/,
    values: { $SECRET: '$TRACKER_SECRET' },
  },
  {
    page: `${GUIDES}/batches.md`,
    begins: `printf '%s\\n' '{"event_id":"batch-2001"`,
    expected: /"status":202.*"status":202/,
    values: { $SECRET: '$TRACKER_SECRET' },
  },
  {
    page: `${GUIDES}/batches.md`,
    begins: `printf '%s\\n' '{"event_id":"batch-3001"`,
    expected: /"status":202/,
    values: { $SECRET: '$TRACKER_SECRET' },
  },
  {
    page: `${GUIDES}/replay.md`,
    begins: 'curl -X POST',
    expected: /"capped":false/,
  },
  {
    page: `${OPERATIONS}/tracing.md`,
    begins: "printf '%s %s'",
    expected: /^[\da-f]{32}$/m,
  },
  {
    page: `${OPERATIONS}/doctor.md`,
    begins: 'npx signalbox-server doctor',
    expected: /^0 errors, \d+ warnings, \d+ ok/m,
  },
  {
    page: `${OPERATIONS}/contract.md`,
    begins: 'curl -sI',
    expected: /^etag: "[\s\S]*\n200\n$/im,
  },
  {
    page: `${OPERATIONS}/contract.md`,
    begins: 'curl -s -o openapi.json',
    expected: /signed with the development key/,
  },
  {
    page: `${OPERATIONS}/contract.md`,
    begins: 'openssl genpkey',
    expected: /^$/,
  },
  {
    page: `${OPERATIONS}/contract.md`,
    begins: 'npm run contract:sign',
    expected: /signed with the key/,
    before: 'openssl genpkey -algorithm ed25519 -out release-key.pem',
  },
  {
    page: `${OPERATIONS}/browser-keys.md`,
    begins: 'npx signalbox-server key list',
    expected: /publishable[\s\S]*revoked/,
    values: { c0de: `$(sed -n 's/.*_secret": ".*\\(....\\)".*/\\1/p' forwarding.json)` },
  },
  {
    page: `${GUIDES}/consent.md`,
    begins: 'npx signalbox-server tracker categories',
    expected: /C0006 +advertising/,
  },
  {
    page: `${GUIDES}/consent.md`,
    begins: "curl -s 'http://127.0.0.1:3000/api/v1/withdrawals",
    expected: /"withdrawals":\[[\s\S]*"not_found":\["019aa6a5/,
    before: `SECRET=$(sed -n 's/.*"tracker_secret": "\\(.*\\)".*/\\1/p' .data/credentials.json)`,
  },
  {
    page: `${GUIDES}/deduplication.md`,
    begins: 'npx signalbox-server tracker page-ids',
    expected: /Pages share event IDs: off/,
  },
  {
    page: `${OPERATIONS}/reconciliation.md`,
    begins: 'npx signalbox-server report',
    expected: new RegExp(YESTERDAY),
    values: { '2026-11-20': YESTERDAY },
  },
  {
    page: `${OPERATIONS}/agents.md`,
    begins: 'npx signalbox-server client',
    expected: /Terminal/,
  },
  {
    page: `${OPERATIONS}/agents.md`,
    begins:
      'token=$(sed -n \'s/.*"execution_token": "\\(.*\\)".*/\\1/p\' .data/credentials.json)\ncurl',
    expected: /"execution_mode":/,
  },
  {
    page: `${OPERATIONS}/agents.md`,
    begins: 'npx signalbox-server campaigns',
    expected: /campaign:\d+/,
    values: { '120200000000001001': '$CAMPAIGN' },
    before:
      'CAMPAIGN=$(npx signalbox-server campaigns list --account 1 | sed -n "/^campaign/{s/.*campaign:\\([0-9]*\\).*/\\1/p;q;}")',
  },
  {
    page: `${OPERATIONS}/credentials.md`,
    begins: 'install -m 600',
    expected: /^$/,
  },
  {
    page: `${OPERATIONS}/credentials.md`,
    begins: 'npx signalbox-server provision',
    expected: /shop\.json/,
  },
  {
    page: `${OPERATIONS}/credentials.md`,
    begins: 'npx signalbox-server destination platforms',
    expected: /Pinterest: --platform pinterest[\s\S]*--target ad_account_id=VALUE/,
  },
  {
    page: `${OPERATIONS}/credentials.md`,
    begins: 'npx signalbox-server destination pause',
    expected: /is paused by a person\.[\s\S]*is active\.[\s\S]*Main dataset is active\./,
  },
  {
    page: `${OPERATIONS}/credentials.md`,
    begins: 'npx signalbox-server credential list',
    expected: /active/,
    before: '"$EDITOR" meta-token',
  },
  {
    page: `${OPERATIONS}/audit.md`,
    begins: 'npx signalbox-server audit export',
    expected: /shop\.ndjson/,
  },
  {
    page: `${OPERATIONS}/audit.md`,
    begins: 'npx signalbox-server audit verify',
    expected: /workspace 1/i,
  },
  {
    page: `${OPERATIONS}/audit.md`,
    begins: 'npx signalbox-server audit events',
    expected: /"event":"/,
  },
  {
    page: `${OPERATIONS}/export.md`,
    begins:
      'npx signalbox-server export events --tracker ID --out web-events.ndjson\nnpx signalbox-server export',
    expected: /reports\.csv: \d+ reports, received before/,
  },
  {
    page: `${OPERATIONS}/export.md`,
    begins: 'npx signalbox-server export events --tracker ID --out web-events.ndjson --resume',
    expected: /web-events\.ndjson is complete already/,
  },
  {
    page: `${OPERATIONS}/erasure.md`,
    begins: 'digest=$(printf',
    expected: /"deletion_request_id"/,
  },
  {
    page: `${OPERATIONS}/people.md`,
    begins: 'npx signalbox-server people add-owner',
    expected: /bob@shop\.example is an owner of workspace \d+ now/,
  },
  {
    page: `${OPERATIONS}/people.md`,
    begins: 'npx signalbox-server people disable',
    expected: /disabled[\s\S]*active/,
  },
  {
    page: 'clients/browser/README.md',
    begins: 'npx node clients/browser/print-forwarder.ts',
    expected: /\/sb/,
  },
  {
    page: SIMULATOR,
    begins: "curl 'http://127.0.0.1:3001/_simulator/health'",
    expected: /"forgotten":/,
  },
  {
    page: SIMULATOR,
    begins: 'curl http://127.0.0.1:3001/_simulator/faults',
    expected: /"rules":/,
  },
  {
    page: SIMULATOR,
    begins: 'curl http://127.0.0.1:3001/_simulator/tokens',
    expected: /"revoked":1/,
  },
  {
    page: SIMULATOR,
    begins: 'curl http://127.0.0.1:3001/_simulator/stats',
    expected: /"page_rows":5/,
  },
  {
    page: SIMULATOR,
    begins: 'NOW=$(date +%s)\ncurl http://127.0.0.1:3001/_simulator/other-events',
    expected: /"added":501/,
  },
  {
    page: SIMULATOR,
    begins: "curl 'http://127.0.0.1:3001/_simulator/google/received",
    expected: /"value_by_currency":[\s\S]*"fired":0[\s\S]*"rules":\[\]/,
  },
]

export const UNTESTED: readonly UntestedBlock[] = [
  {
    page: `${OPERATIONS}/monitoring.md`,
    begins: "curl -s -H 'Accept: application/openmetrics-text'",
    coveredBy: 'service/program/metrics/open-metrics.test.ts',
  },
  {
    page: 'README.md',
    begins: 'npm ci\nnpm start',
    coveredBy: 'this test starts the program of `npm start`; npm ci needs a registry',
  },
  {
    page: 'README.md',
    begins: 'claude mcp add',
    coveredBy: 'needs Claude Code',
  },
  {
    page: 'CONTRIBUTING.md',
    begins: 'npm ci\nexport PATH',
    coveredBy: 'npm test would run this test again; npm ci needs a registry',
  },
  { page: 'testing/benchmarks/README.md', begins: 'npm run bench', coveredBy: 'takes minutes' },
  { page: 'docs/operations/memory.md', begins: 'npm run bench', coveredBy: 'takes minutes' },
  {
    page: `${OPERATIONS}/reliability.md`,
    begins: 'npm run reliability',
    coveredBy: 'testing/reliability/campaign.test.ts',
  },
  {
    page: 'examples/agent/README.md',
    begins: 'npm start',
    coveredBy: 'examples/agent/agent.test.ts',
  },
  {
    page: 'examples/cdnow/README.md',
    begins: 'npm start',
    coveredBy: 'examples/cdnow/cdnow.test.ts',
  },
  {
    page: 'examples/webhook-receiver/README.md',
    begins: 'DATABASE_URL=',
    coveredBy: 'examples/webhook-receiver/receiver.test.ts',
  },
  {
    page: `${GUIDES}/webhook.md`,
    begins: 'echo "whsec_',
    coveredBy: 'it writes a new secret into a file of the current folder',
  },
  {
    page: 'examples/verify-audit/README.md',
    begins: 'curl -s -o jwks.json',
    coveredBy: 'examples/verify-audit/verify-audit.test.ts',
  },
  {
    page: SIMULATOR,
    begins: 'npm run --silent simulator',
    coveredBy: 'this test uses the simulator that `all` starts',
  },
  {
    page: 'CONTRIBUTING.md',
    begins: 'openssl genpkey -algorithm ed25519 -out /tmp/sdk-key.pem',
    coveredBy: 'clients/sdks/generate/generate-command.test.ts',
  },
  {
    page: `${OPERATIONS}/deploy.md`,
    begins: 'npm run package -- /tmp',
    coveredBy: 'deploy/package/installed-package.test.ts',
  },
  {
    page: `${OPERATIONS}/deploy.md`,
    begins: 'npm install ./signalbox-server',
    coveredBy: 'deploy/package/installed-package.test.ts',
  },
  {
    page: `${OPERATIONS}/deploy.md`,
    begins: 'mkdir -m 700 .secrets',
    coveredBy: 'deploy/container/image-content.test.ts',
  },
  {
    page: `${OPERATIONS}/deploy.md`,
    begins: 'docker compose up',
    coveredBy: 'needs Docker; deploy/container/image-content.test.ts runs the same without',
  },
  {
    page: `${OPERATIONS}/deploy.md`,
    begins: 'install -d /opt/signalbox',
    coveredBy: 'needs root; deploy/systemd/systemd.test.ts checks the units',
  },
  {
    page: `${OPERATIONS}/deploy.md`,
    begins: 'systemctl daemon-reload',
    coveredBy: 'needs systemd; deploy/systemd/systemd.test.ts checks the units',
  },
  {
    page: `${OPERATIONS}/deploy.md`,
    begins: 'set -a\n. /etc/signalbox',
    coveredBy: 'needs root; deploy/container/image-content.test.ts runs the command of the package',
  },
  {
    page: `${OPERATIONS}/deploy.md`,
    begins: 'kubectl exec --stdin',
    coveredBy: 'needs a cluster; deploy/container/image-content.test.ts runs the command without',
  },
  {
    page: `${OPERATIONS}/deploy.md`,
    begins: 'kubectl create secret',
    coveredBy: 'needs a cluster; deploy/kubernetes/kubernetes.test.ts checks the manifests',
  },
  {
    page: `${OPERATIONS}/deploy.md`,
    begins: 'kubectl apply --kustomize',
    coveredBy: 'needs a cluster; deploy/kubernetes/kubernetes.test.ts builds both',
  },
  {
    page: `${OPERATIONS}/deploy.md`,
    begins: 'helm upgrade --install',
    coveredBy: 'needs a cluster; deploy/helm/helm.test.ts renders the chart',
  },
  {
    page: `${OPERATIONS}/agents.md`,
    begins: 'claude mcp add',
    coveredBy: 'needs Claude Code',
  },
  {
    page: `${OPERATIONS}/agents.md`,
    begins:
      'token=$(sed -n \'s/.*"execution_token": "\\(.*\\)".*/\\1/p\' .data/credentials.json)\nclaude',
    coveredBy: 'needs Claude Code',
  },
  {
    page: `${OPERATIONS}/credentials.md`,
    begins: 'mv .data/credential-key',
    coveredBy: 'service/program/roles/credential-command.test.ts',
  },
  {
    page: `${OPERATIONS}/erasure.md`,
    begins: 'psql "$DATABASE_URL"',
    coveredBy: 'needs psql, which no npm package brings',
  },
  {
    page: `${OPERATIONS}/supply-chain.md`,
    begins: 'npm run --silent sbom',
    coveredBy: 'testing/supply-chain/sbom.test.ts',
  },
  {
    page: `${OPERATIONS}/supply-chain.md`,
    begins: 'npm run advisories',
    coveredBy: 'needs a registry',
  },
  {
    page: `${OPERATIONS}/supply-chain.md`,
    begins: 'npm run licenses',
    coveredBy: 'testing/supply-chain/check-licenses.test.ts',
  },
  {
    page: `${OPERATIONS}/postgresql.md`,
    begins: 'SIGNALBOX_POSTGRES_BIN=',
    coveredBy: 'embedded-postgres/system-binaries.test.ts',
  },
  {
    page: `${OPERATIONS}/running.md`,
    begins: 'export DATABASE_URL=',
    coveredBy: 'service/program/roles/separate-roles.test.ts',
  },
  {
    page: `${OPERATIONS}/backup.md`,
    begins: 'PGPASSWORD=',
    coveredBy: 'needs pg_dump 18, which no npm package brings',
  },
  {
    page: `${OPERATIONS}/backup.md`,
    begins: 'cp -a .data /backup/data',
    coveredBy: 'testing/reliability/drills/cold-copy.test.ts',
  },
  {
    page: `${OPERATIONS}/backup.md`,
    begins: 'cp -a /backup/data .data',
    coveredBy: 'testing/reliability/drills/cold-copy.test.ts',
  },
  {
    page: `${OPERATIONS}/backup.md`,
    begins: 'pg_dump --dbname',
    coveredBy: 'testing/reliability/drills/dump-and-restore.test.ts',
  },
  {
    page: `${OPERATIONS}/backup.md`,
    begins: 'pg_restore --dbname',
    coveredBy: 'testing/reliability/drills/dump-and-restore.test.ts',
  },
  {
    page: `${OPERATIONS}/backup.md`,
    begins: 'mkdir -p /backup/wal',
    coveredBy: 'testing/reliability/drills/point-in-time.test.ts',
  },
  {
    page: `${OPERATIONS}/backup.md`,
    begins: 'pg_basebackup',
    coveredBy: 'testing/reliability/drills/point-in-time.test.ts',
  },
  {
    page: `${OPERATIONS}/backup.md`,
    begins: "psql --command='select pg_switch_wal",
    coveredBy: 'testing/reliability/drills/point-in-time.test.ts',
  },
  {
    page: `${OPERATIONS}/backup.md`,
    begins: 'cp -a /backup/base',
    coveredBy: 'testing/reliability/drills/point-in-time.test.ts',
  },
  {
    page: `${OPERATIONS}/postgresql.md`,
    begins: 'psql --command="select pg_create_physical',
    coveredBy: 'testing/reliability/drills/read-replica.test.ts',
  },
  {
    page: `${OPERATIONS}/postgresql.md`,
    begins: 'pg_basebackup',
    coveredBy: 'testing/reliability/drills/read-replica.test.ts',
  },
  {
    page: `${OPERATIONS}/standby.md`,
    begins: 'psql --command="select pg_create_physical',
    coveredBy: 'testing/reliability/drills/standby-promotion.test.ts',
  },
  {
    page: `${OPERATIONS}/standby.md`,
    begins: 'pg_basebackup',
    coveredBy: 'testing/reliability/drills/standby-promotion.test.ts',
  },
  {
    page: `${OPERATIONS}/standby.md`,
    begins: 'psql --command="alter system set synchronous_standby_names',
    coveredBy: 'testing/reliability/drills/standby-promotion.test.ts',
  },
  {
    page: `${OPERATIONS}/standby.md`,
    begins: 'pg_ctl promote',
    coveredBy: 'testing/reliability/drills/standby-promotion.test.ts',
  },
  {
    page: `${OPERATIONS}/upgrade.md`,
    begins: 'npx signalbox-server migrate',
    coveredBy: 'testing/reliability/drills/upgrade-under-load.test.ts',
  },
  {
    page: `${OPERATIONS}/rotate-keys.md`,
    begins: 'npx signalbox-server key issue --tracker ID --kind secret',
    coveredBy: 'testing/reliability/drills/key-rotation.test.ts',
  },
  {
    page: `${OPERATIONS}/rotate-keys.md`,
    begins: 'npx signalbox-server key issue --tracker ID --kind publishable',
    coveredBy: 'testing/reliability/drills/key-rotation.test.ts',
  },
  {
    page: `${OPERATIONS}/rotate-keys.md`,
    begins: 'npx signalbox-server key issue --tracker ID --kind forwarding',
    coveredBy: 'testing/reliability/drills/key-rotation.test.ts',
  },
  {
    page: `${OPERATIONS}/rotate-keys.md`,
    begins: 'npx signalbox-server key list',
    coveredBy: 'testing/reliability/drills/key-rotation.test.ts',
  },
  {
    page: `${OPERATIONS}/rotate-keys.md`,
    begins: 'npx signalbox-server key revoke',
    coveredBy: 'testing/reliability/drills/key-rotation.test.ts',
  },
  {
    page: `${OPERATIONS}/rotate-keys.md`,
    begins: '(umask 077 && openssl rand',
    coveredBy: 'testing/reliability/drills/key-rotation.test.ts',
  },
  {
    page: `${OPERATIONS}/rotate-keys.md`,
    begins: 'npx signalbox-server credential reseal',
    coveredBy: 'testing/reliability/drills/key-rotation.test.ts',
  },
  {
    page: `${OPERATIONS}/rotate-keys.md`,
    begins: 'curl -sf -o published-keys.json',
    coveredBy: 'testing/reliability/drills/key-rotation.test.ts',
  },
  {
    page: `${OPERATIONS}/rotate-keys.md`,
    begins: 'curl -sf -o openapi.json',
    coveredBy: 'testing/reliability/drills/key-rotation.test.ts',
  },
]
