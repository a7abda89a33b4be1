package cases

import (
	"encoding/binary"
	"testing"

	"github.com/relist-go/relist/internal/must"
	"github.com/relist-go/relist/test/bench/objects"
)

// TestScanner scans and decodes whole events, and none without its end.
func TestScanner(t *testing.T) {
	set, err := objects.Pods("../../../testdata/pods-300.json.gz", 10)
	must.OK(t, err)
	for _, format := range []objects.Format{objects.JSON, objects.Protobuf} {
		event := set.Template(format, objects.Modified, 7).Append(nil, objects.Values{Index: 7})
		short := event[:len(event)-20]
		if format == objects.Protobuf {
			short = append(binary.BigEndian.AppendUint32(nil, uint32(len(short)-4)), short[4:]...)
		}
		for _, decode := range []bool{false, true} {
			s := scanner{decode: decode}
			s.body.Write(event)
			s.body.Write(event)
			must.OK(t, s.scan(format, true))
			if decode != (s.value != nil) {
				t.Errorf("decode %t: the last value is %q", decode, s.value)
			}
			s.body.Reset()
			s.body.Write(short)
			if s.scan(format, true) == nil {
				t.Error("an event without its end is taken")
			}
		}
	}
	spec := (*(*(*podList)[2])[2])[2]
	volume, container := (*spec)[1], (*spec)[2]
	if (*(*volume)[2])[19] == nil || (*(*(*container)[8])[1])[2] == nil || (*container)[1] != nil {
		t.Error("the fields of a volume with a ConfigMap, of a limit, or of a container's name are wrong")
	}
}
