package httpapi

// ReadsFile tells whether the scanner sees sql reach a file of the host.
func ReadsFile(sql string) bool { return scanStatement(sql).readsFile }
