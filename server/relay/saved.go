package relay

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/relist-go/relist/internal/files"
	"github.com/relist-go/relist/listwatch"
	"github.com/relist-go/relist/reflector"
	"github.com/relist-go/relist/server/watchcache"
	"github.com/relist-go/relist/transport/discovery"
)

// saved is a window in a file, for the next process: its readers resume, and the upstream is not
// listed.
//
// The file has records: four bytes of length, one byte of kind, and the bytes. The first is a
// header, the last is a checksum of all before. It is written beside the old one, synced and
// renamed, so a process that is killed leaves one of the two.
type saved struct {
	path   string
	source string // a file of another server or resource is not used
	last   []byte // the header that is in the file; nil before the first save
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

// save writes the window if it has changed, or if it is known to be up to date since a later time.
// Within a batch of changes there is no point, and nothing to save. The version of the window may
// be newer than that of the point, because a reader has asked for the most recent state: then
// nothing has changed between the two.
func (s *saved) save(f *feed, current time.Time) error {
	f.mu.Lock()
	point := f.point
	log, ok := watchcache.Log{}, false
	if point.Version != "" {
		log, ok = f.cache.Log()
	}
	f.mu.Unlock()
	if !ok {
		return nil
	}
	point.Current = current.Truncate(time.Second)
	head, err := json.Marshal(header{s.source, log.Floor, log.Version, point})
	if err == nil && bytes.Equal(head, s.last) {
		return nil
	}
	if err == nil {
		err = files.Replace(s.path, func(to io.Writer) error { return write(to, head, log) })
	}
	if err != nil {
		return fmt.Errorf("relay: save the window in %s: %w", s.path, err)
	}
	s.last = head
	return nil
}

func write(to io.Writer, head []byte, log watchcache.Log) error {
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	buffered := bufio.NewWriterSize(io.MultiWriter(to, sum), 1<<20)
	record := func(kind byte, data []byte) {
		_ = binary.Write(buffered, binary.BigEndian, uint32(len(data))) // an error stays until Flush
		_ = buffered.WriteByte(kind)
		_, _ = buffered.Write(data)
	}
	record(recordHeader, head)
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

// load reads the window in the file. If there is no file, or it cannot be used, the point of the
// header has no version.
func (s *saved) load(fields *selectable) (watchcache.Log, header, error) {
	file, err := os.Open(s.path)
	if errors.Is(err, os.ErrNotExist) {
		return watchcache.Log{}, header{}, nil
	}
	if err != nil {
		return watchcache.Log{}, header{}, fmt.Errorf("relay: load the window: %w", err)
	}
	defer func() { _ = file.Close() }()
	log, h, err := s.read(bufio.NewReaderSize(file, 1<<20), fields)
	if err != nil {
		return watchcache.Log{}, header{}, fmt.Errorf("relay: load the window in %s: %w", s.path, err)
	}
	return log, h, nil
}

func (s *saved) read(from io.Reader, fields *selectable) (log watchcache.Log, h header, err error) {
	sum := crc32.New(crc32.MakeTable(crc32.Castagnoli))
	for first := true; ; first = false {
		var head [5]byte
		if _, err := io.ReadFull(from, head[:]); err != nil {
			return log, h, fmt.Errorf("the file is cut off: %w", err)
		}
		size, kind := binary.BigEndian.Uint32(head[:4]), head[4]
		if size > maxRecord || first != (kind == recordHeader) {
			return log, h, errors.New("the file is damaged")
		}
		data := make([]byte, size)
		if _, err := io.ReadFull(from, data); err != nil {
			return log, h, fmt.Errorf("the file is cut off: %w", err)
		}
		if kind == recordEnd {
			if string(data) != string(sum.Sum(nil)) {
				return log, h, errors.New("the file is damaged: its checksum is wrong")
			}
			return log, h, nil
		}
		_, _ = sum.Write(head[:])
		_, _ = sum.Write(data)
		if kind == recordHeader {
			if err := json.Unmarshal(data, &h); err != nil {
				return log, h, fmt.Errorf("the file is damaged: %w", err)
			}
			if h.Source != s.source {
				return log, h, fmt.Errorf("it is of %s, not of %s", h.Source, s.source)
			}
			log.Floor, log.Version = h.Floor, h.Version
			continue
		}
		object, err := listwatch.ParseRaw(data)
		if err != nil {
			return log, h, err
		}
		o, err := newState(object, fields)
		if err != nil {
			return log, h, err
		}
		if kind == recordBase {
			log.Base = append(log.Base, o)
		} else {
			log.Changes = append(log.Changes, watchcache.Logged{Object: o, Deleted: kind == recordDeleted})
		}
	}
}
