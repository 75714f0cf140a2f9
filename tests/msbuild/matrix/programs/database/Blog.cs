using Microsoft.EntityFrameworkCore;

namespace Blog;

public class Post
{
    public int Id { get; set; }
    public required string Title { get; set; }
}

public class Posts(DbContextOptions<Posts> options) : DbContext(options)
{
    public DbSet<Post> All => Set<Post>();

    protected override void OnModelCreating(ModelBuilder model)
    {
        model.Entity<Post>().Property(post => post.Title).HasMaxLength(40);
    }
}

static class Pages
{
    public static async Task<string> Add(string title, Posts posts)
    {
        posts.All.Add(new Post { Title = Capitals(title) });
        await posts.SaveChangesAsync();
        return $"{await posts.All.CountAsync()} posts";
    }

    public static async Task<string> Titles(Posts posts)
    {
        var titles = await posts.All.OrderBy(post => post.Title).Select(post => post.Title).ToListAsync();
        return string.Join(", ", titles);
    }

    static string Capitals(string text)
    {
        return text.ToUpperInvariant();
    }
}
