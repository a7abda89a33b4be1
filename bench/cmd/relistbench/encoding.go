package main

import (
	"github.com/relist-go/relist/bench/objects"
	"github.com/relist-go/relist/listwatch"
)

// encodings are what the cases ask for.
var encodings = map[objects.Format]listwatch.Encoding{
	objects.JSON:     listwatch.JSON,
	objects.Protobuf: listwatch.Protobuf,
}
