module github.com/signalbox-events/signalbox/clients/sdks/go

go 1.23
