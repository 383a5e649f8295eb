// fake-gcs-server with the writing half of Google's XML interface, which obstore uses and the server lacks.
//
// A PUT, a copy and a multipart upload become the same calls of the JSON interface; everything else is passed on. So
// preconditions, generations, listings and storage are those of fake-gcs-server.
//
// Usage: gcs HOST PORT FOLDER
package main

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"log"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"net/url"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"

	"github.com/fsouza/fake-gcs-server/fakestorage"
)

type front struct {
	server  http.Handler
	mutex   sync.Mutex
	uploads map[string]*upload
}

type upload struct {
	header http.Header
	parts  map[int][]byte
}

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: gcs HOST PORT FOLDER")
	}
	address := os.Args[1] + ":" + os.Args[2]
	server, err := fakestorage.NewServerWithOptions(fakestorage.Options{
		NoListener:  true,
		StorageRoot: os.Args[3],
		PublicHost:  address,
		ExternalURL: "http://" + address,
		Writer:      io.Discard,
	})
	if err != nil {
		log.Fatal(err)
	}
	log.Fatal(http.ListenAndServe(address, &front{server: server.HTTPHandler(), uploads: map[string]*upload{}}))
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	bucket, object, found := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
	ofXml := found && object != "" && bucket != "storage" && bucket != "upload" && bucket != "_internal"
	object, _ = url.PathUnescape(object)
	query := r.URL.Query()
	id := query.Get("uploadId")
	switch {
	case ofXml && r.Method == http.MethodPut && r.Header.Get("X-Goog-Copy-Source") != "":
		f.copy(w, bucket, object, r.Header)
	case ofXml && r.Method == http.MethodPut && id != "":
		f.part(w, r, id, query.Get("partNumber"))
	case ofXml && r.Method == http.MethodPut:
		content, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		f.insert(w, bucket, object, r.Header, content)
	case ofXml && r.Method == http.MethodPost && query.Has("uploads"):
		f.begin(w, r.Header)
	case ofXml && r.Method == http.MethodPost && id != "":
		f.complete(w, bucket, object, id)
	case ofXml && r.Method == http.MethodDelete && id != "":
		f.take(id)
		w.WriteHeader(http.StatusNoContent)
	default:
		f.server.ServeHTTP(w, r)
	}
}

// insert stores an object; its preconditions and metadata are in the header of the request.
func (f *front) insert(w http.ResponseWriter, bucket, object string, header http.Header, content []byte) bool {
	metadata := map[string]string{}
	for name := range header {
		if key, is := strings.CutPrefix(strings.ToLower(name), "x-goog-meta-"); is {
			metadata[key] = header.Get(name)
		}
	}
	about, _ := json.Marshal(map[string]any{
		"name": object, "metadata": metadata, "contentType": header.Get("Content-Type"),
	})
	var body bytes.Buffer
	parts := multipart.NewWriter(&body)
	for _, part := range []struct {
		kind    string
		content []byte
	}{{"application/json", about}, {"application/octet-stream", content}} {
		writer, _ := parts.CreatePart(textproto.MIMEHeader{"Content-Type": {part.kind}})
		writer.Write(part.content)
	}
	parts.Close()
	query := preconditions(header)
	query.Set("uploadType", "multipart")
	target := fmt.Sprintf("/upload/storage/v1/b/%s/o?%s", bucket, query.Encode())
	request := httptest.NewRequest(http.MethodPost, target, &body)
	request.Header.Set("Content-Type", "multipart/related; boundary="+parts.Boundary())
	return f.answer(w, request)
}

func (f *front) copy(w http.ResponseWriter, bucket, object string, header http.Header) {
	source, _ := url.PathUnescape(header.Get("X-Goog-Copy-Source"))
	sourceBucket, sourceObject, _ := strings.Cut(strings.TrimPrefix(source, "/"), "/")
	target := fmt.Sprintf("/storage/v1/b/%s/o/%s/copyTo/b/%s/o/%s?%s", sourceBucket, url.PathEscape(sourceObject),
		bucket, url.PathEscape(object), preconditions(header).Encode())
	f.answer(w, httptest.NewRequest(http.MethodPost, target, strings.NewReader("{}")))
}

// answer sends what the JSON interface says as the XML interface does: in the header, without a body.
func (f *front) answer(w http.ResponseWriter, request *http.Request) bool {
	recorder := httptest.NewRecorder()
	f.server.ServeHTTP(recorder, request)
	var stored struct {
		Etag       string
		Generation string
	}
	json.Unmarshal(recorder.Body.Bytes(), &stored)
	if recorder.Code >= 300 {
		http.Error(w, recorder.Body.String(), recorder.Code)
		return false
	}
	w.Header().Set("ETag", strconv.Quote(stored.Etag))
	w.Header().Set("X-Goog-Generation", stored.Generation)
	w.WriteHeader(http.StatusOK)
	return true
}

func preconditions(header http.Header) url.Values {
	query := url.Values{}
	for name, parameter := range map[string]string{
		"X-Goog-If-Generation-Match":     "ifGenerationMatch",
		"X-Goog-If-Metageneration-Match": "ifMetagenerationMatch",
	} {
		if value := header.Get(name); value != "" {
			query.Set(parameter, value)
		}
	}
	return query
}

func (f *front) begin(w http.ResponseWriter, header http.Header) {
	f.mutex.Lock()
	id := fmt.Sprintf("upload-%d", len(f.uploads)+1)
	f.uploads[id] = &upload{header: header.Clone(), parts: map[int][]byte{}}
	f.mutex.Unlock()
	sendXml(w, struct {
		XMLName  xml.Name `xml:"InitiateMultipartUploadResult"`
		UploadId string
	}{UploadId: id})
}

func (f *front) part(w http.ResponseWriter, r *http.Request, id, number string) {
	content, err := io.ReadAll(r.Body)
	position, notNumber := strconv.Atoi(number)
	f.mutex.Lock()
	defer f.mutex.Unlock()
	started := f.uploads[id]
	if err != nil || notNumber != nil || started == nil {
		http.Error(w, "no such upload", http.StatusNotFound)
		return
	}
	started.parts[position] = content
	w.Header().Set("ETag", fmt.Sprintf(`"part-%d"`, position))
}

func (f *front) complete(w http.ResponseWriter, bucket, object, id string) {
	started := f.take(id)
	if started == nil {
		http.Error(w, "no such upload", http.StatusNotFound)
		return
	}
	numbers := make([]int, 0, len(started.parts))
	for number := range started.parts {
		numbers = append(numbers, number)
	}
	sort.Ints(numbers)
	var content []byte
	for _, number := range numbers {
		content = append(content, started.parts[number]...)
	}
	stored := httptest.NewRecorder()
	if !f.insert(stored, bucket, object, started.header, content) {
		http.Error(w, stored.Body.String(), stored.Code)
		return
	}
	w.Header().Set("X-Goog-Generation", stored.Header().Get("X-Goog-Generation"))
	sendXml(w, struct {
		XMLName xml.Name `xml:"CompleteMultipartUploadResult"`
		ETag    string
	}{ETag: stored.Header().Get("ETag")})
}

func (f *front) take(id string) *upload {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	started := f.uploads[id]
	if started != nil {
		f.uploads[id] = nil
	}
	return started
}

func sendXml(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/xml")
	io.WriteString(w, xml.Header)
	xml.NewEncoder(w).Encode(value)
}
