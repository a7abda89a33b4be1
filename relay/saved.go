package relay

import (
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/relist-go/relist/discovery"
	"github.com/relist-go/relist/internal/wholefile"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/watchcache"
)

// saved is a window in a file, for the next process: its readers resume, and the upstream is not listed.
//
// The file has records: four bytes of length, one byte of kind, and the bytes. The first is a header, the last is a checksum of
// all before. It is written beside the old one, synced and renamed, so a process that is killed leaves one of the two.
type saved struct {
	path   string
	source string // a file of another server or resource is not used
	last   string // the version that is in the file
}

func newSaved(dir, server string, resource discovery.Resource) *saved {
	gvr := resource.GroupVersionResource
	name := fmt.Sprintf("%s.%s.%s.window", gvr.Resource, gvr.Version, gvr.Group)
	return &saved{path: filepath.Join(dir, name), source: server + " " + gvr.String()}
}

// The kinds of records.
const (
	recordHeader  = 'h'
	recordBase    = 'b' // a state at the beginning of the window
	recordChange  = 'c'
	recordDeleted = 'd' // a change that was a deletion
	recordEnd     = 'e'
)

type header struct {
	Source  string          `json:"source"`
	Floor   uint64          `json:"floor"`
	Version uint64          `json:"version"`
	Point   reflector.Point `json:"point"`
}

// maxRecord bounds what is read of a damaged file. etcd holds no object of that size.
const maxRecord = 64 << 20

// run saves the window periodically, until ctx ends.
func (s *saved) run(ctx context.Context, f *feed, every time.Duration, problem func(error)) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			problem(s.save(f))
		case <-ctx.Done():
			return
		}
	}
}

// save writes the window if it has changed. Between two batches of changes there is no point, and nothing to save.
func (s *saved) save(f *feed) error {
	f.mu.Lock()
	point := f.point
	log, ok := watchcache.Log{}, false
	if point.Version != "" && point.Version != s.last {
		log, ok = f.cache.Log()
	}
	f.mu.Unlock()
	if n, _ := watchcache.ParseVersion(point.Version); !ok || n != log.Version {
		return nil
	}
	if err := wholefile.Replace(s.path, func(to io.Writer) error { return s.write(to, log, point) }); err != nil {
		return fmt.Errorf("relay: save the window in %s: %w", s.path, err)
	}
	s.last = point.Version
	return nil
}

func (s *saved) write(to io.Writer, log watchcache.Log, point reflector.Point) error {
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	buffered := bufio.NewWriterSize(io.MultiWriter(to, sum), 1<<20)
	record := func(kind byte, data []byte) {
		_ = binary.Write(buffered, binary.BigEndian, uint32(len(data))) // an error stays until Flush
		_ = buffered.WriteByte(kind)
		_, _ = buffered.Write(data)
	}
	h, err := json.Marshal(header{s.source, log.Floor, log.Version, point})
	if err != nil {
		return err
	}
	record(recordHeader, h)
	for _, o := range log.Base {
		record(recordBase, o.(*state).body)
	}
	for _, c := range log.Changes {
		kind := byte(recordChange)
		if c.Deleted {
			kind = recordDeleted
		}
		record(kind, c.Object.(*state).body)
	}
	if err := buffered.Flush(); err != nil {
		return err
	}
	record(recordEnd, sum.Sum(nil))
	return buffered.Flush()
}

// load fills the cache with the window in the file, and returns the point at which the reflector begins. If there is no file, the
// point has no version.
func (s *saved) load(f *feed) (reflector.Point, error) {
	file, err := os.Open(s.path)
	if errors.Is(err, os.ErrNotExist) {
		return reflector.Point{}, nil
	}
	if err != nil {
		return reflector.Point{}, fmt.Errorf("relay: load the window: %w", err)
	}
	defer func() { _ = file.Close() }()
	log, point, err := s.read(bufio.NewReaderSize(file, 1<<20), f.fields)
	if err == nil {
		err = f.cache.Restore(log)
	}
	if err != nil {
		return reflector.Point{}, fmt.Errorf("relay: load the window in %s: %w", s.path, err)
	}
	return point, nil
}

func (s *saved) read(from io.Reader, fields *selectable) (log watchcache.Log, point reflector.Point, err error) {
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	for first := true; ; first = false {
		var head [5]byte
		if _, err := io.ReadFull(from, head[:]); err != nil {
			return log, point, fmt.Errorf("the file is cut off: %w", err)
		}
		size, kind := binary.BigEndian.Uint32(head[:4]), head[4]
		if size > maxRecord || first != (kind == recordHeader) {
			return log, point, errors.New("the file is damaged")
		}
		data := make([]byte, size)
		if _, err := io.ReadFull(from, data); err != nil {
			return log, point, fmt.Errorf("the file is cut off: %w", err)
		}
		if kind == recordEnd {
			if string(data) != string(sum.Sum(nil)) {
				return log, point, errors.New("the file is damaged: its checksum is wrong")
			}
			return log, point, nil
		}
		_, _ = sum.Write(head[:])
		_, _ = sum.Write(data)
		if kind == recordHeader {
			var h header
			if err := json.Unmarshal(data, &h); err != nil {
				return log, point, fmt.Errorf("the file is damaged: %w", err)
			}
			if h.Source != s.source {
				return log, point, fmt.Errorf("it is of %s, not of %s", h.Source, s.source)
			}
			log.Floor, log.Version, point = h.Floor, h.Version, h.Point
			continue
		}
		object, err := listwatch.ParseRaw(data)
		if err != nil {
			return log, point, err
		}
		o, err := newState(object, fields)
		if err != nil {
			return log, point, err
		}
		if kind == recordBase {
			log.Base = append(log.Base, o)
		} else {
			log.Changes = append(log.Changes, watchcache.Logged{Object: o, Deleted: kind == recordDeleted})
		}
	}
}
