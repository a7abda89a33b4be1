package main

import (
	"os"
	"testing"

	"github.com/relist-go/relist/internal/must"
)

// The file that apitest has is that of the types of today.
func TestSchemaIsCurrent(t *testing.T) {
	have, err := os.ReadFile("../../../../apitest/schema.txt")
	must.OK(t, err)
	if string(have) != generate() {
		t.Error("apitest/schema.txt is of other types; renew it with go run ./cmd/schema >../../apitest/schema.txt")
	}
}
