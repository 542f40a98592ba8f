/**
 * Our names for the tables and columns of better-auth, as created by
 * service/migrations/0012-people.sql and 0028-second-factors.sql.
 */
const TIMESTAMP_COLUMNS = { createdAt: 'created_at', updatedAt: 'updated_at' } as const

export const TABLE_MAPPING = {
  user: { modelName: 'users', fields: { emailVerified: 'email_verified', ...TIMESTAMP_COLUMNS } },
  session: {
    modelName: 'sessions',
    fields: {
      userId: 'user_id',
      expiresAt: 'expires_at',
      ipAddress: 'ip_address',
      userAgent: 'user_agent',
      ...TIMESTAMP_COLUMNS,
    },
  },
  account: {
    modelName: 'accounts',
    fields: {
      accountId: 'account_id',
      providerId: 'provider_id',
      userId: 'user_id',
      accessToken: 'access_token',
      refreshToken: 'refresh_token',
      idToken: 'id_token',
      accessTokenExpiresAt: 'access_token_expires_at',
      refreshTokenExpiresAt: 'refresh_token_expires_at',
      ...TIMESTAMP_COLUMNS,
    },
  },
  verification: {
    modelName: 'verifications',
    // The identifier contains the token of the emailed link: only its digest is stored.
    storeIdentifier: 'hashed',
    fields: { expiresAt: 'expires_at', ...TIMESTAMP_COLUMNS },
  },
} as const

/** For the two-factor plugin. */
export const TWO_FACTOR_TABLES = {
  user: { fields: { twoFactorEnabled: 'two_factor_enabled' } },
  twoFactor: {
    modelName: 'two_factors',
    fields: {
      userId: 'user_id',
      backupCodes: 'backup_codes',
      failedVerificationCount: 'failed_verification_count',
      lockedUntil: 'locked_until',
    },
  },
} as const

/** For the passkey plugin. */
export const PASSKEY_TABLE = {
  passkey: {
    modelName: 'passkeys',
    fields: {
      userId: 'user_id',
      credentialID: 'credential_id',
      publicKey: 'public_key',
      deviceType: 'device_type',
      backedUp: 'backed_up',
      createdAt: 'created_at',
    },
  },
} as const
