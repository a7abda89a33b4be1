package main

import (
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/test/bench/objects"
)

// encodings has the Encoding for each format in the cases.
var encodings = map[objects.Format]listwatch.Encoding{
	objects.JSON:     listwatch.JSON,
	objects.Protobuf: listwatch.Protobuf,
}
