using Jobs;

var builder = Host.CreateApplicationBuilder(args);
builder.Logging.ClearProviders();
builder.Services.AddSingleton<Inbox>();
builder.Services.AddHostedService<Worker>();

var host = builder.Build();
host.Run();
