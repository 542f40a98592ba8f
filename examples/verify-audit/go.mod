module verify-audit

go 1.23
